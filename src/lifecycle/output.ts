import { setup } from "xstate";

/**
 * One output of a completed job.
 *
 * ```
 * pending → available → downloaded → kept (gone at the service, our copy stays)
 *         ↘ failed    ↘ expired
 * ```
 */
export const outputMachine = setup({
  types: {
    events: {} as
      | { type: "output.available" }
      | { type: "output.failed" }
      | { type: "output.downloaded" }
      | { type: "output.expired" },
  },
}).createMachine({
  id: "output",
  initial: "pending",
  states: {
    pending: { on: { "output.available": "available", "output.failed": "failed", "output.expired": "expired" } },
    available: { on: { "output.downloaded": "downloaded", "output.expired": "expired" } },
    downloaded: { on: { "output.expired": "kept" } },
    kept: { type: "final" },
    expired: { type: "final" },
    failed: { type: "final" },
  },
});
