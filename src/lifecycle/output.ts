import { setup } from "xstate";

/**
 * One output of a completed job.
 *
 * ```
 * pending → available → downloaded → kept (gone at the service, our copy stays)
 *         ↘ failed    ↘ expired → kept (a download that was on its way)
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
    // Said again by another step that reads it, or by a download that was on its way: nothing new, or a copy after all.
    kept: { on: { "output.expired": "kept", "output.downloaded": "kept" } },
    expired: { on: { "output.expired": "expired", "output.downloaded": "kept" } },
    failed: { type: "final" },
  },
});
