import { givesWay, type Option, optionsAround, optionsIn } from "../../plan/index.ts";
import type { Plan } from "../../plan/plan.ts";
import type { StepPrice } from "./step-price.ts";

/** A step of an option, or a choice in it: what it costs at most, micro-dollars, and where it fails. */
interface Part {
  readonly most: number;
  readonly failed: number;
  readonly isPaid: boolean;
  readonly needs: ReadonlySet<string>;
}

/** The path that the options of a choice are under. */
export function partOf({ path }: Option["choice"]): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/**
 * What an option costs at most, micro-dollars, if it makes way for the next one: a paid step of it fails at no cost, and
 * what needs that step is not made.
 */
export function failedCosts(plan: Pick<Plan, "steps">, prices: readonly StepPrice[]): (option: string) => number {
  const options = optionsIn(plan);
  const priceOf = new Map(options.size === 0 ? [] : prices.map((price) => [price.step, price]));
  const known = new Map<string, { readonly most: number; readonly failed: number }>();

  const costsOf = (path: string) => {
    const before = known.get(path);
    if (before !== undefined) return before;
    const parts = partsOf(options.get(path)!);
    const most = [...parts.values()].reduce((sum, part) => sum + part.most, 0);
    let failed = 0;
    for (const [name, part] of parts) {
      if (!part.isPaid) continue;
      const spared = [...usersOf(name, parts)].reduce((sum, user) => sum + parts.get(user)!.most, 0);
      failed = Math.max(failed, most - spared - (part.most - part.failed));
    }
    // What is waited for no longer is paid for in full beside the next one.
    const costs = { most, failed: isWaitedFor(options.get(path)!) ? most : failed };
    known.set(path, costs);
    return costs;
  };

  const partsOf = (option: Option) => {
    const nameOf = (path: string) => {
      const inner = optionsAround(plan, path).filter((inside) => inside.path.startsWith(`${option.path}/`));
      const outermost = inner.at(-1);
      return outermost === undefined ? path : partOf(outermost.choice);
    };
    const parts = new Map<string, Part>();
    for (const { path, kind, needs: all, when } of option.steps) {
      // What is made because another step failed is not spared by that failure.
      const needs = when !== undefined && "failed" in when ? all.filter((needed) => needed !== when.failed) : all;
      const name = nameOf(path);
      const known = parts.get(name);
      const isFailedPaid = option.choice.second.rewrites === true && kind === "generate";
      const costs = name === path ? stepCosts(path, isFailedPaid) : choiceCosts(path, option);
      const part = known ?? { ...costs, needs: new Set() };
      const used = needs.map(nameOf).filter((usedName) => usedName !== name);
      parts.set(name, { ...part, needs: new Set([...part.needs, ...used]) });
    }
    return parts;
  };

  /** A provider that does not say what it charged for what moderation ended may have charged all of it. */
  const stepCosts = (path: string, isFailedPaid: boolean) => {
    const { mostMicros = 0, basis = "free" } = priceOf.get(path) ?? {};
    const most = mostMicros ?? 0;
    return { most, failed: isFailedPaid ? most : 0, isPaid: basis !== "free" && basis !== "reused" };
  };

  const choiceCosts = (path: string, outer: Option) => {
    const inner = optionsAround(plan, path).filter((option) => option.path.startsWith(`${outer.path}/`));
    let [failed, most] = [0, 0];
    for (const option of inner.at(-1)!.choice.second.options) {
      const costs = costsOf(option);
      most = Math.max(most, failed + costs.most);
      failed += costs.failed;
    }
    return { most, failed, isPaid: true };
  };

  return (option) => costsOf(option).failed;
}

/** Whether the next option may begin while this one is under way. */
function isWaitedFor(option: Option): boolean {
  return givesWay(option) && option.steps.some((step) => "policy" in step && step.policy.withinMs !== undefined);
}

/** What needs a part, directly or not. */
function usersOf(name: string, parts: ReadonlyMap<string, Part>): ReadonlySet<string> {
  const found = new Set([name]);
  for (const part of found) for (const [user, { needs }] of parts) if (needs.has(part)) found.add(user);
  found.delete(name);
  return found;
}
