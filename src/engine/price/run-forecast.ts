import { type FollowStrategy, forecast, type JobLimits, referencesOf, traitsOf } from "../../plan/index.ts";
import { dependentsOf, makespan } from "../../plan/makespan.ts";
import type { ExpandingStep, JobStep, Json, Plan, PlanStep } from "../../plan/plan.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { RETENTION_MS } from "../../run/view/expiry.ts";

/** A step that may find an asset gone that it takes in. */
export interface ExpiryRisk {
  readonly step: string;
  /** Path of the step that makes the asset. */
  readonly uses: string;
  readonly why: string;
  /** True when a copy is kept, which goes back as a free upload. False: it would have to be produced, and paid for, again. */
  readonly heals: boolean;
}

/** How many API requests a run sends, and how long it takes at least with the key's limit. */
export interface RequestForecast {
  /** Steps that lead to others once their value is known, and how many each may lead to. */
  readonly expansions: readonly { readonly step: string; readonly maxSteps: number }[];
  /** Requests that the key may send a minute; null while the service has not said. */
  readonly perMinute: number | null;
  readonly byStrategy: {
    readonly [S in FollowStrategy]: {
      readonly requests: number;
      /** Milliseconds, jobs at once and requests a minute considered; durations are guesses where a model never ran. */
      readonly makespanMs: number;
      /** Both with every expansion at its most steps. */
      readonly requestsAtMost: number;
      readonly makespanAtMostMs: number;
    };
  };
}

export interface RunForecast {
  readonly requests: RequestForecast;
  readonly risks: readonly ExpiryRisk[];
}

export interface RunForecastOptions {
  readonly durationMs: (step: PlanStep) => number;
  readonly limits: JobLimits;
  readonly perMinute: number | null;
  /** Steps that are there without being made. */
  readonly isDone: (path: string) => boolean;
}

/** What a run of the plan would ask of the service, and what it may find gone there. */
export function forecastRun(plan: Plan, options: RunForecastOptions): RunForecast {
  const { durationMs, limits, perMinute, isDone } = options;
  const left = withoutDone(plan, isDone);
  const requested = { durationMs, limits, requestsPerMinute: perMinute };
  const { byStrategy: least, expansions: all } = forecast(left, requested);
  const expansions = all.filter(({ step }) => !left.steps.some(({ path }) => path.startsWith(`${step}/`)));
  const names = new Set(expansions.map(({ step }) => step));
  const { byStrategy: most } = forecast(fullyGrown(left, names), requested);
  const along = (strategy: FollowStrategy) => ({
    requests: least[strategy].requests,
    makespanMs: least[strategy].makespanMs,
    requestsAtMost: most[strategy].requestsAtMost,
    makespanAtMostMs: most[strategy].makespanMs,
  });
  const byStrategy = { poll: along("poll"), stream: along("stream"), webhook: along("webhook") };
  return { requests: { perMinute, expansions, byStrategy }, risks: risksOf(left, options) };
}

/** The plan as if every one of these expansions led to as many jobs as it may, side by side. */
function fullyGrown(plan: Plan, names: ReadonlySet<string>): Plan {
  if (names.size === 0) return plan;
  const inner = new Map<string, readonly string[]>();
  const steps = plan.steps.flatMap((step): readonly PlanStep[] => {
    const needs = [...step.needs, ...step.needs.flatMap((path) => inner.get(path) ?? [])];
    const { expansion } = traitsOf(step);
    if (expansion === null || !names.has(step.path)) return [{ ...step, needs }];
    const { maxSteps } = expansion;
    const jobs = Array.from({ length: maxSteps }, (_, index) => anyJob(expansion, `${step.path}/${index + 1}`, needs));
    inner.set(
      step.path,
      jobs.map(({ path }) => path),
    );
    // Counted as the jobs that it leads to.
    return [{ ...expansion, kind: "expand", needs, maxSteps: 0 }, ...jobs];
  });
  return { ...plan, steps };
}

/** Nobody knows what it will be: of the kind that the expansion yields, else of the slowest. */
function anyJob({ yields, fingerprint }: ExpandingStep, path: string, needs: readonly string[]): JobStep {
  return {
    ...{ kind: "job", path, needs, fingerprint, model: "", input: {}, outputs: 1 },
    yields: yields === null || yields === "value" ? "video" : yields,
    policy: { attempts: 1, maxCostMicros: null, keep: true },
  };
}

function withoutDone(plan: Plan, isDone: (path: string) => boolean): Plan {
  const steps = plan.steps.filter(({ path }) => !isDone(path));
  if (steps.length === plan.steps.length) return plan;
  return { ...plan, steps: steps.map((step) => ({ ...step, needs: step.needs.filter((path) => !isDone(path)) })) };
}

function risksOf(plan: Plan, { durationMs, limits }: RunForecastOptions): readonly ExpiryRisk[] {
  const startsAt = new Map<string, number>();
  const spanMs = makespan(plan, durationMs, limits, (step, at) => void startsAt.set(step.path, at));
  const gates = gatesOf(plan);
  // Nothing waits for a person, and all is over before anything can be gone.
  if (gates.length === 0 && spanMs <= RETENTION_MS) return [];
  return plan.steps.flatMap((step) => {
    return makersOf(plan, step).flatMap((maker): readonly ExpiryRisk[] => {
      const endsAt = (startsAt.get(maker.path) ?? 0) + durationMs(maker);
      const ageMs = (startsAt.get(step.path) ?? 0) - endsAt;
      const gate = gates.find(({ after }) => after.has(step.path) && !after.has(maker.path));
      const stored = `its output is kept for ${hours(RETENTION_MS)} h by the service`;
      const why =
        ageMs > RETENTION_MS
          ? `${step.path} starts about ${hours(ageMs)} h after ${maker.path} is produced, and ${stored}`
          : gate === undefined
            ? null
            : `${step.path} waits for the decision ${gate.path}, which may take longer than that: ${maker.path} is produced before it, and ${stored}`;
      return why === null
        ? []
        : [{ step: step.path, uses: maker.path, why, heals: traitsOf(maker).submits!.policy.keep }];
    });
  });
}

interface Gate {
  readonly path: string;
  /** All that waits for the decision. */
  readonly after: ReadonlySet<string>;
}

function gatesOf(plan: Plan): readonly Gate[] {
  const decisions = plan.steps.filter((step) => traitsOf(step).decision !== null);
  if (decisions.length === 0) return [];
  const dependents = dependentsOf(plan);
  return decisions.map(({ path }) => {
    const after = new Set<string>();
    const open = [path];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const user of dependents.get(next) ?? []) {
        if (after.has(user.path)) continue;
        after.add(user.path);
        open.push(user.path);
      }
    }
    return { path, after };
  });
}

/** Jobs whose assets a paid step takes in, through picks and approvals too. */
function makersOf(plan: Plan, step: PlanStep): readonly PlanStep[] {
  const { submits } = traitsOf(step);
  if (submits === null) return [];
  const makers = new Set<PlanStep>();
  const seen = new Set<string>();
  const open = pathsIn(submits.input);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const source = stepNamed(plan, next);
    if (source === undefined) continue;
    const traits = traitsOf(source);
    if (traits.submits !== null && source.yields !== "voice") makers.add(source);
    else open.push(...traits.standsFor.map(({ $ref }) => $ref.step));
  }
  return [...makers];
}

function pathsIn(input: Json): string[] {
  return referencesOf(input).flatMap((ref) => (ref.as === "asset" ? [ref.step] : []));
}

function hours(ms: number): number {
  return Math.round(ms / 3_600_000);
}
