import type { Remake } from "../../index.ts";
import { visible } from "../text/escape.ts";
import { dollars } from "../text/money.ts";
import { priceLines, totalText } from "./price-table.ts";

/** Steps that are made again with their prices, and what that adds to what was spent. */
export function remakeTable(remake: Remake, width?: number): string {
  const { stale, prices, totalMicros, committedMicros, budgetMicros, seenThroughFirst } = remake;
  if (stale.length === 0) return "No step has to be made again.";
  const lines = [
    priceLines(prices, width),
    "",
    `Made again: ${stale.length} ${stale.length === 1 ? "step" : "steps"}, ${totalText(totalMicros)}, on top of ${dollars(committedMicros)} spent and reserved so far${budgetMicros === null ? "" : ` of ${dollars(budgetMicros)}`}`,
  ];
  if (seenThroughFirst.length > 0) {
    lines.push(`First seen through, because they are paid for: ${seenThroughFirst.map(visible).join(", ")}`);
  }
  return lines.join("\n");
}
