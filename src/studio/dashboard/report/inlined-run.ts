import type { FoldedRun, RunView, StepView } from "../../../internal.ts";
import { givenView, timelineView } from "../routes/read-routes.ts";
import { runCosts } from "../views/run-costs.ts";
import { MOST_WHOLE, RunGroups } from "../views/run-groups.ts";
import { runHead } from "../views/run-head.ts";
import type { EventLine, InlinedRun } from "../views/run-wire.ts";
import { stepDetail, usersOf } from "../views/step-detail.ts";
import { stepView } from "../views/step-view.ts";

/** Steps that are listed one by one. */
const MOST_STEPS = 1000;
const MOST_LINES = 2000;
const MOST_ROWS = 1000;
/** Characters of one text, and of the texts of all steps. */
const LONGEST_TEXT = 4_000;
const ALL_TEXT = 600_000;
/** A run without events for so long was killed: what was open ended soon after the last one. */
const LONGEST_SILENCE_MS = 10 * 60_000;

export interface Written {
  readonly writtenAt: number;
  readonly version: string;
  /** Whether no process drives the run, although it is under way. */
  readonly isInterrupted: boolean;
  /** All events of the run, as lines. */
  readonly lines: readonly EventLine[];
}

/** All that the page of a run asks for, from its events. */
export function inlinedRun(run: FoldedRun, { writtenAt, version, isInterrupted, lines }: Written): InlinedRun {
  const view = run.view!;
  const { state } = view;
  const { lastAt } = run.history;
  const isMoving = state.status === "running" && !isInterrupted;
  const now = isMoving ? Math.max(lastAt, Math.min(writtenAt, lastAt + LONGEST_SILENCE_MS)) : lastAt;
  const groups = state.planned.plan.steps.length > MOST_WHOLE ? new RunGroups(view) : null;
  const steps = groups === null ? [...view.steps, ...view.removed] : shownSteps(view, groups.shown());
  const row = { updatedAt: now, status: isInterrupted ? "interrupted" : state.status };
  return {
    now,
    writtenAt,
    version,
    patch: {
      full: true,
      head: runHead(state, { row, driveError: null, drivenHere: false, counts: groups?.counts() }),
      groups: groups?.views() ?? null,
      steps: steps.map((step) => stepView(state, step)),
      events: lines.slice(-MOST_LINES),
      progress: [],
    },
    answers: {
      costs: runCosts(view),
      given: givenView(view),
      timeline: timelineView(run, MOST_ROWS),
      ...details(view, shownSteps(view, new Set()), lines),
    },
  };
}

const settled: ReadonlySet<string> = new Set(["succeeded", "skipped", "waiting"]);

/** Failed and running steps, then those that produced the files, those asked for, and the first others. */
function shownSteps(view: RunView, requested: ReadonlySet<string>): readonly StepView[] {
  const steps = [...view.steps, ...view.removed];
  if (steps.length <= MOST_STEPS) return steps;
  const makers = new Set(view.state.files.map(({ step }) => step));
  const rank = ({ status, path }: StepView) => {
    if (!settled.has(status)) return 0;
    return makers.has(path) ? 1 : requested.has(path) ? 2 : 3;
  };
  const chosen = new Set(steps.toSorted((a, b) => rank(a) - rank(b)).slice(0, MOST_STEPS));
  return steps.filter((step) => chosen.has(step));
}

function details(view: RunView, steps: readonly StepView[], lines: readonly EventLine[]): InlinedRun["answers"] {
  const events = Map.groupBy(lines, ({ step }) => step);
  const usedBy = usersOf(view);
  const mostText = Math.min(LONGEST_TEXT, Math.max(80, Math.floor(ALL_TEXT / Math.max(1, steps.length))));
  const each = steps.map((step) => {
    const own = { events: events.get(step.path) ?? [], usedBy, mostText };
    return [`step?path=${encodeURIComponent(step.path)}`, stepDetail(view, step, own)] as const;
  });
  return Object.fromEntries(each);
}
