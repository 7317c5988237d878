import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import type { JournalStore } from "../../../src/core/journal/store.ts";
import type { CliEnd } from "./cli.ts";

/** A view of a journal that another process writes. */
export interface JournalView extends AsyncDisposable {
  readonly store: JournalStore;
  /** Settles when the run's journal contains this event; rejects if `ended` settles first. */
  reached(runId: string, seq: number, ended: Promise<CliEnd>): Promise<void>;
}

/** Interval in ms at which the journal is read, because commits of other processes are not announced. */
const pollEveryMs = 2;

export async function viewJournal(path: string, ended: Promise<unknown>): Promise<JournalView> {
  let over = false;
  void ended.then(() => {
    over = true;
  });
  while (!existsSync(path) && !over) await delay(pollEveryMs);
  const store = await openSqliteJournal(path);
  return {
    store,
    async reached(runId, seq, end) {
      let gone: CliEnd | null = null;
      void end.then((last) => {
        gone = last;
      });
      for (;;) {
        const row = await store.run(runId);
        if (row !== null && row.lastSeq >= seq) return;
        if (gone !== null) throw endedEarly(gone, row?.lastSeq ?? 0, seq);
        await delay(pollEveryMs);
      }
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

function endedEarly({ code, stderr }: CliEnd, at: number, wanted: number): Error {
  return new Error(`the process ended at event ${at}, before ${wanted}, with exit ${code}:\n${stderr}`);
}
