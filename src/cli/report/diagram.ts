import { type DiagramOptions, type Quote, traitsOf } from "../../index.ts";
import { dollars } from "../../money.ts";

/** What a drawing of a priced plan says beside the names: each step's model and price, and the longest chain. */
export function diagramOptions(quote: Quote): DiagramOptions {
  const prices = new Map(quote.prices.map((price) => [price.step, price]));
  return {
    highlighted: quote.criticalPath,
    note: (step) => {
      const price = prices.get(step.path);
      const what = traitsOf(step).note;
      return price === undefined ? what : `${what}, ${amount(price)}`;
    },
  };
}

function amount({ basis, costMicros, maxCostMicros }: Quote["prices"][number]): string {
  if (basis === "free") return "free";
  if (costMicros !== null) return dollars(costMicros);
  return maxCostMicros === null ? "no price yet" : `at most ${dollars(maxCostMicros)}`;
}
