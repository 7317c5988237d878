import type { AttemptView, RunView, StepView, TimelineSpan } from "../../index.ts";
import type { KnownRun } from "../runs/run-cache.ts";
import type { ModelCosts, StepsPage, TimelineView } from "./run-wire.ts";
import { stepView } from "./step-view.ts";

/** Steps of a run by group, phase or by what they have (`returned`, `intermediate`, `attempts`), the first ones of them. */
export function stepsPage({ view, groups }: KnownRun, query: URLSearchParams, limit: number): StepsPage {
  const [group, phase, having] = ["group", "phase", "with"].map((name) => query.get(name));
  const returned = new Set(view.state.files.map(({ step }) => step));
  const has: Readonly<Record<string, (step: StepView) => boolean>> = {
    attempts: ({ attempts }) => attempts.some(isBilled),
    returned: ({ path }) => returned.has(path),
    intermediate: ({ path, outputs }) => !returned.has(path) && outputs.some(({ copy }) => copy !== null),
  };
  const found = view.steps.filter(
    (step) =>
      (group == null || groups?.isIn(step.path, group) === true) &&
      (phase == null || step.phase === phase) &&
      (having == null || has[having]?.(step) === true),
  );
  return { total: found.length, steps: found.slice(0, limit).map((step) => stepView(view.state, step)) };
}

/** Tries of a task cost nothing. */
function isBilled({ kind }: AttemptView): boolean {
  return kind !== "try";
}

export function modelCosts({ steps }: RunView): readonly ModelCosts[] {
  const rows = new Map<string, { readonly name: string; count: number; held: number; cost: number }>();
  for (const { model, money, holdMicros, costMicros } of steps.flatMap(({ attempts }) => attempts.filter(isBilled))) {
    const name = model ?? "not submitted";
    const row = rows.get(name) ?? { name, count: 0, held: 0, cost: 0 };
    row.count += 1;
    row.held += money === "held" ? holdMicros : 0;
    row.cost += costMicros ?? 0;
    rows.set(name, row);
  }
  return [...rows.values()].sort((a, b) => b.cost - a.cost || b.held - a.held);
}

/** The rows that begin first. */
export function timelineView(spans: readonly TimelineSpan[], rows: number): TimelineView {
  const steps = new Set(spans.map(({ step }) => step));
  const shown = new Set([...steps].slice(0, rows));
  const ends = spans.flatMap(({ to }) => to ?? []);
  return {
    rows: steps.size,
    from: spans[0]?.from ?? 0,
    to: ends.length === 0 ? null : ends.reduce((latest, end) => Math.max(latest, end)),
    spans: spans.filter(({ step }) => shown.has(step)),
  };
}
