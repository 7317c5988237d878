import { keyTable, workspaceTable } from "./accounts.ts";
import { countJobs, idempotencyTable, metaTable, modelRunTable } from "./bookkeeping.ts";
import { openDatabase } from "./database.ts";
import { eventTable } from "./events.ts";
import { jobTable } from "./jobs.ts";
import { fileTable, voiceTable } from "./media.ts";
import { outputTable } from "./outputs.ts";
import { Writer } from "./writer.ts";

/**
 * Everything the service remembers. Reads may be made at any time; writes belong inside `write`, whose work runs in one
 * transaction with whatever else was asked for in the same turn.
 */
export function openStore(dataDir: string) {
  const database = openDatabase(dataDir);
  const writer = new Writer(database);
  return {
    /** For parts of the service that keep tables of their own. */
    database,
    write: <T>(work: () => T) => writer.write(work),
    afterCommit: (call: () => void) => writer.afterCommit(call),
    flush: () => writer.flush(),
    meta: metaTable(database),
    workspaces: workspaceTable(database),
    keys: keyTable(database),
    jobs: jobTable(database),
    outputs: outputTable(database),
    events: eventTable(database),
    idempotency: idempotencyTable(database),
    modelRuns: modelRunTable(database),
    files: fileTable(database),
    voices: voiceTable(database),
    countJobs: countJobs(database),
    close() {
      writer.flush();
      database.close();
    },
  };
}

export type Store = ReturnType<typeof openStore>;
