import { copyFileSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import { loadRun } from "../../../src/core/view/index.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { isFull } from "../../support/sample.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { planned } from "./samples.ts";

const JOURNALS = isFull ? 2_000 : 60;
const folder = newFolder();
const [sound, path] = [join(folder, "sound.db"), join(folder, "journal.db")];
beforeAll(async () => {
  const journal = await openSqliteJournal(sound);
  for (const run of ["a", "b", "c"]) await journal.createRun(run, planned(), 10);
  await journal.close();
  const raw = new DatabaseSync(sound);
  raw.exec("PRAGMA journal_mode = DELETE");
  raw.close();
});

const table = fc.constantFrom("runs", "events", "inbox", "wakes", "ledger", "snapshots", "media", "quotes", "progress");
const sql = fc.constantFrom(
  "(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n)",
  "load_extension('x')",
  "randomblob(1000)",
  "readfile('/etc/passwd')",
);
/** What a stranger may do to the layout. */
const layout = fc.oneof(
  fc
    .tuple(table, sql)
    .map(([name, value]) => `ALTER TABLE ${name} RENAME TO old; CREATE VIEW ${name} AS SELECT ${value} AS x`),
  fc.tuple(table, table).map(([on, to]) => `CREATE TRIGGER t AFTER INSERT ON ${on} BEGIN DELETE FROM ${to}; END`),
  table.map((name) => `ALTER TABLE ${name} ADD COLUMN more TEXT GENERATED ALWAYS AS (hex(zeroblob(1000000)))`),
  table.map((name) => `CREATE INDEX odd ON ${name} (1 + 1)`),
  table.map((name) => `DROP TABLE ${name}`),
  table.map((name) => `CREATE VIRTUAL TABLE more USING fts5(x); DROP TABLE ${name}`),
);
const value = fc.oneof(
  fc
    .string({ unit: anyCharacter, maxLength: 30 })
    .map((text) => `'${text.replaceAll("'", "''").replaceAll("\0", "")}'`),
  fc.json({ maxDepth: 3 }).map((text) => `'${text.replaceAll("'", "''")}'`),
  fc.constantFrom(
    "x'00ff00ff'",
    "zeroblob(100000)",
    "'../../../etc/passwd'",
    "9e999",
    "-1",
    "9007199254740993",
    "printf('%.*c', 100000, '[')",
  ),
);
/** What a stranger may write into a layout that is ours. */
const content = fc.oneof(
  value.map((body) => `UPDATE events SET body = ${body}`),
  value.map((body) => `UPDATE events SET body = ${body} WHERE run_key = 1`),
  fc.tuple(fc.constantFrom("pipeline", "account", "status", "run_id"), value).map(([name, text]) => {
    return `UPDATE OR IGNORE runs SET ${name} = ${text} WHERE run_key = 2`;
  }),
  fc.tuple(fc.constantFrom("last_seq", "snapshot_seq", "epoch", "created_at"), fc.integer()).map(([name, number]) => {
    return `UPDATE OR IGNORE runs SET ${name} = ${number}`;
  }),
  value.map((text) => `INSERT INTO inbox (run_key, at, message) VALUES (1, 1, ${text})`),
  value.map((text) => `INSERT OR REPLACE INTO snapshots VALUES (1, 1, 1, ${text})`),
);
const bytes = fc.record({ at: fc.nat(120_000), bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }) });

/** Looks at all that a command would. */
async function look(): Promise<void> {
  const journal = await openSqliteJournal(path);
  try {
    for (const { runId } of await journal.runs()) {
      await journal.read(runId, { limit: 100 }).catch(expected);
      await journal.inbox(runId).catch(expected);
      await loadRun(journal, runId).catch(expected);
    }
  } finally {
    await journal.close();
  }
}

/** An error that says what is wrong, of a kind that commands know how to show. */
function expected(error: unknown): void {
  expect(error).toBeInstanceOf(Error);
  expect((error as Error).message.length).toBeLessThan(5_000);
  expect((error as { readonly code?: unknown }).code ?? (error as Error).name, String((error as Error).stack)).toMatch(
    /^[A-Z_]+$/,
  );
}

test(`of ${JOURNALS} journals with another layout each is refused, as it was [foreign journals]`, async () => {
  await fc.assert(
    fc.asyncProperty(layout, async (change) => {
      copyFileSync(sound, path);
      const raw = new DatabaseSync(path);
      try {
        raw.exec(change);
      } catch {
        return;
      } finally {
        raw.close();
      }
      const before = readFileSync(path);
      utimesSync(path, 1, 1);
      const error = await look().then(
        () => null,
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ code: expect.stringMatching(/^JOURNAL_/) });
      expect(readFileSync(path).equals(before)).toBe(true);
    }),
    { numRuns: JOURNALS },
  );
});

test(`of ${JOURNALS} journals with foreign content or bytes each is shown or refused with a reason [foreign data]`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(content, bytes), async (change) => {
      for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
      copyFileSync(sound, path);
      if (typeof change === "string") {
        const raw = new DatabaseSync(path);
        try {
          raw.exec(change);
        } catch {
          return;
        } finally {
          raw.close();
        }
      } else {
        const file = readFileSync(path);
        Buffer.from(change.bytes).copy(file, change.at % file.length);
        writeFileSync(path, file);
      }
      utimesSync(path, 1, 1);
      await look().catch(expected);
    }),
    { numRuns: JOURNALS },
  );
});
