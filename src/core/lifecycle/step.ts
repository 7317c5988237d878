import { setup } from "xstate";

/** Terminal; a rerun resets it. */
const again = { "step.reset": "waiting" } as const;
const withResult = { tags: ["ended", "withResult"], on: again } as const;
const withoutResult = { tags: ["ended", "withoutResult"], on: again } as const;

/**
 * One step of a run. *Ready* is a view of `waiting` (everything it needs is there), not a state of its own: nothing
 * durable tells the two apart.
 *
 * ```
 * waiting → running ⇄ unresolved → succeeded | partial | failed | cancelled
 *         ↘ skipped | cancelled ↙
 *
 * failed → running (its job was still under way when the run ended, and is waited for again)
 * step.reset leads back to waiting from everywhere but unresolved
 * ```
 */
export const stepMachine = setup({
  types: {
    tags: {} as "ended" | "withResult" | "withoutResult",
    events: {} as
      | { type: "step.started" }
      | { type: "step.succeeded" }
      | { type: "step.partial" }
      | { type: "step.failed" }
      | { type: "step.skipped" }
      | { type: "step.cancelled" }
      | { type: "step.reset" }
      | { type: "step.awaited" }
      | { type: "job.unresolved" }
      | { type: "job.submitted" }
      | { type: "job.submit.refused" }
      | { type: "job.found" }
      | { type: "job.adopted" }
      | { type: "job.lost" },
  },
}).createMachine({
  id: "step",
  initial: "waiting",
  states: {
    waiting: {
      on: {
        "step.started": "running",
        "step.skipped": "skipped",
        "step.cancelled": "cancelled",
        // Priced but not started: it is priced again.
        "step.reset": "waiting",
      },
    },
    running: {
      on: {
        "step.succeeded": "succeeded",
        "step.partial": "partial",
        "step.failed": "failed",
        // Nothing of it is at the service, and nothing that it leads to can be made any more.
        "step.skipped": "skipped",
        "step.cancelled": "cancelled",
        "job.unresolved": "unresolved",
        // Begun with nothing of it at the service any more: a refused submit, an open decision, a failed try.
        "step.reset": "waiting",
      },
    },
    unresolved: {
      on: {
        "job.submitted": "running",
        "job.submit.refused": "running",
        "job.found": "running",
        "job.adopted": "running",
        "job.lost": "running",
        "step.cancelled": "cancelled",
      },
    },
    succeeded: withResult,
    partial: withResult,
    // Its run ended while its job was under way, and asks for it again.
    failed: { ...withoutResult, on: { ...again, "step.awaited": "running" } },
    skipped: withoutResult,
    cancelled: withoutResult,
  },
});
