import { HOUR_MS } from "../../kit/duration.ts";
import { type DurationMs, dependentsOf } from "../../plan/critical-path.ts";
import { referencesOf, traitsOf } from "../../plan/index.ts";
import type { Plan, PlanStep } from "../../plan/plan.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { RETENTION_MS } from "../../run/retention.ts";

/** A step that may find an asset gone that it takes in. */
export interface ExpiryRisk {
  readonly step: string;
  /** Path of the step that makes the asset. */
  readonly uses: string;
  readonly why: string;
  /** True when a copy is kept, which goes back as a free upload. False: it would have to be produced, and paid for, again. */
  readonly heals: boolean;
}

/**
 * What a run of the plan may find gone at the service: made long before it is used, or before a decision that may take long.
 * `isDone`: steps that are there without being made.
 */
export function expiryRisks(
  plan: Plan,
  durationMs: DurationMs,
  isDone: (path: string) => boolean,
): readonly ExpiryRisk[] {
  const endsAt = new Map<string, number>();
  const startOf = ({ needs }: PlanStep) => needs.reduce((at, path) => Math.max(at, endsAt.get(path) ?? 0), 0);
  for (const step of plan.steps) endsAt.set(step.path, startOf(step) + durationMs(step));
  const gates = gatesOf(plan);
  const stored = `its output is kept for ${hours(RETENTION_MS)} h by the service`;
  return plan.steps.flatMap((step) => {
    if (isDone(step.path)) return [];
    return makersOf(plan, step).flatMap((maker): readonly ExpiryRisk[] => {
      if (isDone(maker.path)) return [];
      const ageMs = startOf(step) - endsAt.get(maker.path)!;
      const gate = gates.find(({ after }) => after.has(step.path) && !after.has(maker.path));
      if (ageMs <= RETENTION_MS && gate === undefined) return [];
      const why =
        ageMs > RETENTION_MS
          ? `${step.path} starts about ${hours(ageMs)} h after ${maker.path} is produced, and ${stored}`
          : `${step.path} waits for the decision ${gate!.path}, which may take longer than that: ${maker.path} is produced before it, and ${stored}`;
      return [{ step: step.path, uses: maker.path, why, heals: traitsOf(maker).submits!.policy.keep }];
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
    const after = new Set([path]);
    for (const earlier of after) for (const user of dependents.get(earlier) ?? []) after.add(user.path);
    after.delete(path);
    return { path, after };
  });
}

/** Jobs whose assets a paid step takes in, through picks and approvals too. */
function makersOf(plan: Plan, step: PlanStep): readonly PlanStep[] {
  const { submits } = traitsOf(step);
  if (submits === null) return [];
  const makers: PlanStep[] = [];
  const open = new Set(referencesOf(submits.input).flatMap((ref) => (ref.as === "asset" ? [ref.step] : [])));
  for (const path of open) {
    const source = stepNamed(plan, path);
    if (source === undefined) continue;
    const traits = traitsOf(source);
    if (traits.submits !== null && source.yields !== "voice") makers.push(source);
    else for (const { $ref } of traits.standsFor) open.add($ref.step);
  }
  return makers;
}

function hours(ms: number): number {
  return Math.round(ms / HOUR_MS);
}
