import type { Quote } from "../../index.ts";
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
  if (price.basis === "free" || price.basis === "reused") return price.basis;
  return price.costMicros === null ? "?" : dollars(price.costMicros);
}

function remark(price: Price): string {
  switch (price.basis) {
    case "provisional":
      return price.anew === undefined
        ? "provisional: quoted again when its media exist"
        : `provisional; ${visible(price.anew)}`;
    case "unquotable": {
      const cap = price.maxCostMicros === null ? "" : `at most ${dollars(price.maxCostMicros)}: `;
      return `${cap}${visible(price.reason ?? "cannot be quoted in advance")}`;
    }
    case "reused":
      return visible(price.reason ?? "");
    default:
      return price.anew === undefined ? "" : visible(price.anew);
  }
}

/** The prices of a plan, step by step, with the sum and the critical path under them. */
export function priceTable(quote: Quote, width?: number): string {
  const lines = [
    priceLines(quote.prices, width),
    "",
    [`Total ${totalText(quote.totalMicros)}`, ...means(quote)].join(" · "),
  ];
  if (quote.criticalPath.length > 0) lines.push(`Longest chain: ${quote.criticalPath.map(visible).join(" → ")}`);
  for (const { step, message } of quote.warnings) lines.push(`Warning: ${visible(step)} ${visible(message)}`);
  return lines.join("\n");
}

/** What there is to pay it from. */
function means({ budgetMicros, balanceMicros, totalMicros }: Quote): readonly string[] {
  const short = balanceMicros === null ? 0 : totalMicros.min - balanceMicros;
  return [
    ...(budgetMicros === null ? [] : [`budget ${dollars(budgetMicros)}`]),
    ...(balanceMicros === null
      ? []
      : [`wallet ${dollars(balanceMicros)}${short > 0 ? `, ${dollars(short)} short` : ""}`]),
  ];
}

/** The prices alone, step by step. */
export function priceLines(prices: readonly Price[], width?: number): string {
  return table(prices, columns, width);
}

/** A sum that may be known only in part. */
export function totalText({ min, max }: Quote["totalMicros"]): string {
  if (max === null) return `at least ${dollars(min)}`;
  return min === max ? dollars(max) : `${dollars(min)} to ${dollars(max)}`;
}
