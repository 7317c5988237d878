import { setup } from "xstate";

/** Terminal; only a rerun, or a late job that it ended without, reopens it. */
const ended = { tags: "ended", on: { "run.reopened": "running" } } as const;

/**
 * A run.
 *
 * ```
 * planned → running ⇄ paused → succeeded | partial | failed | cancelled → (run.reopened) → running
 * ```
 *
 * Why it is paused (funds, budget, unresolved, unreachable, credentials and others) is data of the pause: a paused run whose
 * reason changes stays paused.
 */
export const runMachine = setup({
  types: {
    tags: {} as "ended",
    events: {} as
      | { type: "run.started" }
      | { type: "run.paused" }
      | { type: "run.resumed" }
      | { type: "run.succeeded" }
      | { type: "run.partial" }
      | { type: "run.failed" }
      | { type: "run.cancelled" }
      | { type: "run.reopened" },
  },
}).createMachine({
  id: "run",
  initial: "planned",
  states: {
    planned: { on: { "run.started": "running", "run.cancelled": "cancelled" } },
    running: {
      on: {
        "run.paused": "paused",
        "run.succeeded": "succeeded",
        "run.partial": "partial",
        "run.failed": "failed",
        "run.cancelled": "cancelled",
      },
    },
    paused: { on: { "run.paused": "paused", "run.resumed": "running", "run.cancelled": "cancelled" } },
    succeeded: ended,
    partial: ended,
    failed: ended,
    cancelled: ended,
  },
});
