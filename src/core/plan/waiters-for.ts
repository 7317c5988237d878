import type { Plan } from "./plan.ts";
import { stepNamed } from "./plan-index.ts";

/**
 * Whether a step of the plan is the one at `path`, or waits for it, at the cost of what comes before the steps that are asked
 * for.
 */
export function waitersFor(path: string, plan: Plan): (asked: string) => boolean {
  const others = new Set<string>();
  return (asked) => {
    const before = new Set([asked]);
    for (const waiter of before) {
      if (waiter === path) return true;
      for (const needed of stepNamed(plan, waiter)?.needs ?? []) if (!others.has(needed)) before.add(needed);
    }
    for (const waiter of before) others.add(waiter);
    return false;
  };
}
