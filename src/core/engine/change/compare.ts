import type { RunState } from "../../journal/state.ts";
import type { InboxEntry } from "../../journal/store.ts";
import { formatUsd, priceText } from "../../kit/money.ts";
import { diffPlans, expansionsIn, type FieldChange, isReference, type PlanDiff } from "../../plan/index.ts";
import type { Json, Plan, Problem } from "../../plan/plan.ts";
import type { StepPrice } from "../price/totals.ts";

/** A step of the new plan that cannot reuse a result of the earlier run. */
export interface StaleStep {
  readonly path: string;
  /**
   * Why the step is stale. `changed`: its request differs. `new`: the earlier plan has no such step. `uses`: it depends
   * on a stale step. `unmade`: its request is unchanged, but the earlier run has no result.
   */
  readonly cause: "changed" | "new" | "uses" | "unmade";
  /** The reason in words, such as `voice changed: input.name was "a", is "b"`. */
  readonly why: string;
  /** The differences in the request; empty unless `cause` is `changed`. */
  readonly fields: readonly FieldChange[];
}

/** The result of comparing a pipeline and an input with an earlier run. */
export interface Comparison {
  /** False if the plan has problems; in that case nothing was compared or priced. */
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  readonly against: string;
  readonly plan: Plan | null;
  readonly diff: PlanDiff;
  /** Stale steps, in plan order. */
  readonly stale: readonly StaleStep[];
  readonly prices: readonly StepPrice[];
  /** The total price of the stale steps, in micro-dollars. `max` is null if a step has no upper limit. */
  readonly totalMicros: { readonly min: number; readonly max: number | null };
  /** One line that sums up the comparison, such as `voice changed: 3 of 14 steps stale, 2.10 USD`. */
  readonly summary: string;
}

const MOST_CHANGES = 3;
const LONGEST_VALUE = 60;

function formatChanges(fields: readonly FieldChange[]): string {
  const texts = fields
    .slice(0, MOST_CHANGES)
    .map(({ field, before, after }) => `${field} was ${formatValue(before)}, is ${formatValue(after)}`);
  const more = fields.length - texts.length;
  return [...texts, ...(more > 0 ? [`${more} more`] : [])].join("; ");
}

function formatValue(value: Json | undefined): string {
  if (value === undefined) return "left out";
  if (isReference(value)) return `the result of ${value.$ref.step}`;
  const text = JSON.stringify(value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}

export type RunDifference = Pick<Comparison, "diff" | "stale">;

export function compareWithRun(plan: Plan, run: RunState): RunDifference {
  const diff = diffPlans(withoutGrown(run.planned.plan, plan), plan);
  const changed = new Map(diff.changed.map(({ path, fields }) => [path, fields]));
  const added = new Set(diff.added);
  const names = new Map(diff.renamed.map(({ from, to }) => [to, from]));
  const stale = new Map<string, StaleStep>();
  for (const { path, needs } of plan.steps) {
    const note = (cause: StaleStep["cause"], why: string, fields: readonly FieldChange[] = []) =>
      void stale.set(path, { path, cause, why, fields });
    const fields = changed.get(path);
    const used = needs.find((needed) => stale.has(needed));
    const status = run.steps[names.get(path) ?? path]?.status;
    if (fields !== undefined) note("changed", `${path} changed: ${formatChanges(fields)}`, fields);
    else if (added.has(path)) note("new", `${path} is new`);
    else if (used !== undefined) note("uses", `${path} uses ${used}`);
    else if (status !== "succeeded" && status !== "partial")
      note("unmade", `${path} was ${status === undefined ? "not run" : status} in run ${run.runId}`);
  }
  return { diff, stale: [...stale.values()] };
}

export function notCompared(against: string, problems: readonly Problem[]): Comparison {
  const diff: PlanDiff = { unchanged: [], changed: [], added: [], removed: [], renamed: [], stale: [] };
  const summary = `the plan has ${problems.length === 1 ? "a problem" : `${problems.length} problems`}; nothing was compared`;
  const totalMicros = { min: 0, max: null };
  return { ok: false, problems, against, plan: null, diff, stale: [], prices: [], totalMicros, summary };
}

export function summaryOf(
  { diff, stale }: RunDifference,
  plan: Plan,
  { totalMicros, prices }: Pick<Comparison, "totalMicros" | "prices">,
): string {
  const pathsOf = (cause: StaleStep["cause"]) => stale.filter((step) => step.cause === cause).map(({ path }) => path);
  const parts = [
    said(pathsOf("changed"), "changed"),
    said(pathsOf("new"), "new"),
    said(pathsOf("unmade"), "not made"),
    said(diff.removed, "removed"),
  ].filter((part) => part !== null);
  const what = parts.length === 0 ? "nothing changed" : parts.join(", ");
  const price = priceText(totalMicros, prices, (micros) => `${formatUsd(micros)} USD`);
  return `${what}: ${stale.length} of ${plan.steps.length} steps stale, ${price}`;
}

function said(paths: readonly string[], what: string): string | null {
  if (paths.length === 0) return null;
  const more = paths.length > 3 ? ` and ${paths.length - 3} more` : "";
  return `${paths.slice(0, 3).join(", ")}${more} ${what}`;
}

/** Returns the earlier plan without the steps that expansions created, because the new plan does not have them yet. */
function withoutGrown(before: Plan, after: Plan): Plan {
  const expansions = expansionsIn(after.steps);
  const isGrown = (path: string) => {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      if (expansions.has(path.slice(0, at))) return true;
    }
    return false;
  };
  return { ...before, steps: before.steps.filter(({ path }) => !isGrown(path)) };
}

export function isAskedToGoOn(inbox: readonly InboxEntry[]): boolean {
  return lastDecision(inbox) > (inbox.findLast(({ message }) => message.type === "stop")?.id ?? 0);
}

/**
 * Returns the ids of the stop messages that a resume overrides. An unattended resume overrides only those sent before a
 * person's newest decision.
 */
export function outdatedStops(inbox: readonly InboxEntry[], unattended: boolean): readonly number[] {
  const until = unattended ? lastDecision(inbox) : Number.POSITIVE_INFINITY;
  return inbox.flatMap(({ id, message }) => (message.type === "stop" && id < until ? [id] : []));
}

function lastDecision(inbox: readonly InboxEntry[]): number {
  return (
    inbox.findLast(({ message: { type } }) => type === "approve" || type === "reject" || type === "adopt")?.id ?? 0
  );
}
