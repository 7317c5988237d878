import { join } from "node:path";
import type { RunEvent } from "../../../src/core/journal/events.ts";
import type { JournalStore, Lease, LeaseHolder } from "../../../src/core/journal/store.ts";
import { newFolder } from "../../support/temporary-folder.ts";

/** The path of a new journal, in a folder of its own. */
export const newPath = () => join(newFolder(), "journal.db");

export const baseUrl = "http://127.0.0.1:1/v3";
export const account = `key_1@${baseUrl}`;

export function planned(keyId = "key_1"): RunEvent & { readonly type: "run.planned" } {
  return {
    type: "run.planned",
    program: "1.0.0",
    plan: { version: 1, pipeline: "sample", steps: [], returns: {} },
    input: { script: "Grüße, 世界" },
    baseUrl,
    keyId,
    nonce: "n0",
    budgetMicros: 5_000_000,
    maxUnquotedMicros: null,
    limits: { total: 8, perModel: {}, perModality: {} },
    quoteMicros: null,
    outDir: "/tmp/out",
    source: null,
  };
}

export function holder(instance: string): LeaseHolder {
  return { host: "h", bootId: "b", pid: 1, processStart: "s", instance, program: "1.0.0" };
}

export function started(step: string): RunEvent {
  return { type: "step.started", step };
}

export function submitted(step: string, jobId: string): RunEvent {
  return { type: "job.submitted", step, attempt: 1, jobId, model: "m", replayed: false };
}

export const nobodyIsDead = () => false;

/** Takes the lease of a run that nobody holds. */
export async function takeLease(
  journal: JournalStore,
  runId: string,
  { by = holder("a"), at = 100, ttlMs = 1_000 } = {},
): Promise<Lease> {
  const outcome = await journal.takeLease(runId, by, { at, ttlMs, isDead: nobodyIsDead });
  if (!outcome.acquired) throw new Error("the lease was not free");
  return outcome.lease;
}
