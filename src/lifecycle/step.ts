import { setup } from "xstate";

/**
 * One step of a run. *Ready* is a view of `waiting` (everything it needs is there), not a state of its own: nothing
 * durable tells the two apart.
 *
 * ```
 * waiting → running ⇄ unresolved → succeeded | partial | failed | cancelled
 *         ↘ skipped | cancelled
 * ```
 */
export const stepMachine = setup({
  types: {
    events: {} as
      | { type: "step.started" }
      | { type: "step.succeeded" }
      | { type: "step.partial" }
      | { type: "step.failed" }
      | { type: "step.skipped" }
      | { type: "step.cancelled" }
      | { type: "job.unresolved" }
      | { type: "job.adopted" }
      | { type: "job.lost" },
  },
}).createMachine({
  id: "step",
  initial: "waiting",
  states: {
    waiting: { on: { "step.started": "running", "step.skipped": "skipped", "step.cancelled": "cancelled" } },
    running: {
      on: {
        "step.succeeded": "succeeded",
        "step.partial": "partial",
        "step.failed": "failed",
        "step.cancelled": "cancelled",
        "job.unresolved": "unresolved",
      },
    },
    unresolved: { on: { "job.adopted": "running", "job.lost": "running", "step.cancelled": "cancelled" } },
    succeeded: { type: "final" },
    partial: { type: "final" },
    failed: { type: "final" },
    skipped: { type: "final" },
    cancelled: { type: "final" },
  },
});
