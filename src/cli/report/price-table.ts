import type { Quote } from "../../index.ts";
import { duration } from "../text/duration.ts";
import { visible } from "../text/escape.ts";
import { dollars } from "../text/money.ts";
import { type Column, table } from "../text/table.ts";

type Price = Quote["prices"][number];

const columns: readonly Column<Price>[] = [
  { title: "step", value: (price) => visible(price.step), flexible: true },
  { title: "model", value: (price) => visible(price.model ?? "–"), flexible: true },
  { title: "price", value: amount, align: "right" },
  { title: "", value: remark, flexible: true },
];

function amount(price: Price): string {
  if (price.basis === "free") return "free";
  return price.costMicros === null ? "?" : dollars(price.costMicros);
}

function remark(price: Price): string {
  switch (price.basis) {
    case "provisional":
      return "provisional: quoted again when its media exist";
    case "unquotable": {
      const cap = price.maxCostMicros === null ? "" : `at most ${dollars(price.maxCostMicros)}: `;
      return `${cap}${visible(price.reason ?? "cannot be quoted in advance")}`;
    }
    default:
      return "";
  }
}

/** The prices of a plan, step by step, with the sum, the critical path and the forecast under them. */
export function priceTable(quote: Quote, width?: number): string {
  const { min, max } = quote.totalMicros;
  const total =
    max === null ? `at least ${dollars(min)}` : min === max ? dollars(max) : `${dollars(min)} to ${dollars(max)}`;
  const lines = [table(quote.prices, columns, width), "", `Total ${total}`];
  if (quote.criticalPath.length > 0) lines.push(`Longest chain: ${quote.criticalPath.map(visible).join(" → ")}`);
  if (quote.forecastMs !== null) lines.push(`Expected to take ${duration(quote.forecastMs)}`);
  return lines.join("\n");
}
