import { expect, test } from "vitest";
import { Database, loadSqlite } from "../../../src/core/journal/sqlite/database.ts";
import { prepareSchema } from "../../../src/core/journal/sqlite/migrate.ts";
import { Writer } from "../../../src/core/journal/sqlite/writer.ts";
import { SqliteJournal } from "../../../src/core/journal/sqlite.ts";
import { useAllOf } from "./use-all.ts";

/** Questions for all that there is, of the journal or of one run, or for the last of it. */
const listings = [
  /^SELECT id FROM unsorted_results ORDER BY id DESC LIMIT 1$/,
  /^SELECT DISTINCT sha256 FROM media/,
  /^SELECT run_id, seq, event, .* ORDER BY due_at, run_key, seq$/,
  /^SELECT .* FROM review_links ORDER BY created_at DESC/,
  /^SELECT .* FROM results .* WHERE run_key = /,
];

/** Every statement of a journal that does all that a journal does. */
async function statementsOf(raw: InstanceType<ReturnType<typeof loadSqlite>["DatabaseSync"]>) {
  prepareSchema(raw, "memory");
  const statements = new Set<string>();
  const watched = new Proxy(raw, {
    get(target, name) {
      if (name === "isTransaction") return target.isTransaction;
      const method = Reflect.get(target, name).bind(target);
      if (name !== "prepare") return method;
      return (sql: string) => {
        statements.add(sql);
        return method(sql);
      };
    },
  });
  const db = new Database(watched, "memory");
  const writer = new Writer(db, { busyTimeoutMs: 0, path: "memory" }, () => {});
  const journal = new SqliteJournal(db, writer, { busyTimeoutMs: 0, pollIntervalMs: 50, now: () => 1 });
  await useAllOf(journal);
  return statements;
}

test("What a large run left in the journal is in no statement's way: each finds its rows by an index, in its order", async () => {
  const { DatabaseSync } = loadSqlite();
  const raw = new DatabaseSync(":memory:");
  const statements = [...(await statementsOf(raw))].filter((sql) => /^(SELECT|INSERT|UPDATE|DELETE)/.test(sql));
  expect(statements.length).toBeGreaterThan(40);
  const scans = statements.flatMap((sql) =>
    raw
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .filter(({ detail }) => /^SCAN (?!CONSTANT ROW|json_each)|USE TEMP B-TREE/.test(String(detail)))
      .map(({ detail }) => ({ sql, detail })),
  );
  expect(scans.filter(({ sql }) => !listings.some((listing) => listing.test(sql)))).toEqual([]);
  expect(scans.length).toBeGreaterThan(0);
});
