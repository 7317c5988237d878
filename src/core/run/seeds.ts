import { outputsOf, type RunState } from "../journal/state.ts";
import { traitsOf, withSeeds } from "../plan/index.ts";
import type { Json, Plan } from "../plan/plan.ts";
import { stepNamed } from "../plan/plan-index.ts";

/** A seed that a rerun replaces. */
export interface NewSeed {
  readonly step: string;
  readonly before: number;
  readonly after: number;
}

export interface RerunSeeds {
  /** Of takes and further attempts, whose seeds are counted: those of the rerun, which no job of the run was asked with. */
  readonly seeds: readonly NewSeed[];
  /** Steps whose author gave the seed: their rerun asks for exactly what is there already. */
  readonly sameSeed: readonly { readonly step: string; readonly seed: number }[];
  /** The plan with the new seeds. */
  readonly plan: Plan;
}

/**
 * The seeds with which the steps are asked for again: others than before where a result exists. `stale`: all that runs
 * again, since a request is no longer the same once what it uses is another.
 */
export function rerunSeeds(
  state: RunState,
  plan: Plan,
  steps: readonly string[],
  stale: readonly string[],
): RerunSeeds {
  const asked = new Set<number>();
  const isStale = new Set(stale);
  const seeds: NewSeed[] = [];
  const sameSeed: { readonly step: string; readonly seed: number }[] = [];
  for (const { attempts } of Object.values(state.steps)) for (const { input } of attempts) note(asked, input);
  for (const step of plan.steps) if ("model" in step) note(asked, step.input);
  for (const path of steps) {
    const step = stepNamed(plan, path);
    const before = step !== undefined && "model" in step ? seedIn(step.input) : null;
    if (step === undefined || before === null || !hasResult(state, path)) continue;
    const most = traitsOf(step).submits?.mostSeed;
    if (most !== undefined) {
      const after = nextSeed(before, (state.steps[path]?.attempts.length ?? 0) + 1, most, asked);
      asked.add(after);
      seeds.push({ step: path, before, after });
    } else if (!step.needs.some((needed) => isStale.has(needed))) sameSeed.push({ step: path, seed: before });
  }
  return { seeds, sameSeed, plan: withSeeds(plan, seedsByStep(seeds)) };
}

export function seedsByStep(seeds: readonly NewSeed[]): { readonly [step: string]: number } {
  return Object.fromEntries(seeds.map(({ step, after }) => [step, after]));
}

/** Spread over the range, so that seeds that are counted up meet none of them; the same for the same attempt. */
function nextSeed(before: number, attempt: number, most: number, asked: ReadonlySet<number>): number {
  const start = (before + attempt * 1_000_003) % (most + 1);
  for (let seed = start; seed < start + asked.size + 1; seed += 1) {
    if (!asked.has(seed % (most + 1))) return seed % (most + 1);
  }
  // A model that takes fewer seeds than were asked for.
  return start;
}

/** Whether the step has something that a rerun would make once more: what failed or has expired is worth the same request. */
function hasResult(state: RunState, path: string): boolean {
  const step = state.steps[path];
  return (
    step?.status === "succeeded" && (step.value !== null || outputsOf(step).some(({ phase }) => phase !== "expired"))
  );
}

function seedIn(input: Json): number | null {
  if (typeof input !== "object" || input === null || !("seed" in input)) return null;
  return typeof input.seed === "number" ? input.seed : null;
}

function note(asked: Set<number>, input: Json): void {
  const seed = seedIn(input);
  if (seed !== null) asked.add(seed);
}
