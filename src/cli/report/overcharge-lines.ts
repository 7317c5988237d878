import type { RunReport } from "../../index.ts";
import { visible } from "../text/escape.ts";

/** What the service charged above its quotes, and whether that passed the budget. */
export function overchargeLines({ id, overcharges, over_budget, budget }: RunReport): readonly string[] {
  const lines = overcharges.map(({ model, times, excess, worst }) => {
    const ratio = worst === null ? "" : `, up to $${worst.charged} for a quote of $${worst.quoted}`;
    const what = times === 1 ? "1 charge" : `${times} charges`;
    return `${visible(model)}: ${what} above the quote, $${excess} too much${ratio}. Later jobs are held at what it really costs`;
  });
  if (over_budget === null) return lines;
  return [
    ...lines,
    `The budget of $${budget} was passed by $${over_budget}: showrunner reconcile ${visible(id)} lists the jobs`,
  ];
}
