import type { PauseState, RunState, RunStatus } from "../../journal/state.ts";
import { type NextCommand, nextCommand } from "../next-command.ts";

/** A run without its steps, as everybody shows it. Money is micro-dollars, instants are epoch milliseconds. */
export interface RunSummary {
  readonly id: string;
  readonly pipeline: string;
  /** What people call it; null: its id. */
  readonly title: string | null;
  readonly tags: { readonly [key: string]: string };
  /** Status in the journal, or `interrupted`: it was running, and no process drives it any more. */
  readonly status: RunStatus | "interrupted";
  /** Why it is interrupted, or how it failed; null otherwise. */
  readonly message: string | null;
  readonly pause: PauseState | null;
  /** The command that continues it; null when nothing is left to do or a process drives it. */
  readonly next: NextCommand | null;
  readonly budgetMicros: number | null;
  readonly quoteMicros: number | null;
  readonly spentMicros: number;
  /** Reserved for jobs whose bill is not known yet. */
  readonly heldMicros: number;
  /** Reserved for chat requests that were never answered. */
  readonly unconfirmedMicros: number;
  readonly createdAt: number;
  readonly finishedAt: number | null;
}

const INTERRUPTED =
  "the process that drove it has ended; jobs already paid for continue at the service and are collected when the run is resumed";

export function runSummary(state: RunState, { isInterrupted = false } = {}): RunSummary {
  const { planned, budgetMicros, spentMicros, heldMicros, unconfirmedMicros, createdAt, finishedAt } = state;
  return {
    id: state.runId,
    pipeline: planned.plan.pipeline,
    title: planned.title ?? null,
    tags: planned.tags ?? {},
    status: isInterrupted ? "interrupted" : state.status,
    message: isInterrupted ? INTERRUPTED : state.message,
    pause: state.pause,
    next: nextCommand(state, { isInterrupted }),
    budgetMicros,
    quoteMicros: planned.quoteMicros,
    spentMicros,
    heldMicros,
    unconfirmedMicros,
    createdAt,
    finishedAt,
  };
}
