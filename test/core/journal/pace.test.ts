import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import { newPath, planned } from "./samples.ts";

describe("A journal that another connection keeps locked", () => {
  test("does not block the event loop while it waits, and continues once the lock is released", async () => {
    const path = newPath();
    const journal = await openSqliteJournal(path);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    let created = false;
    const creating = journal.createRun("r1", planned(), 1).then(() => {
      created = true;
    });
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(created).toBe(false);
    other.exec("ROLLBACK");
    await creating;
    expect(await journal.read("r1")).toHaveLength(1);
    other.close();
    await journal.close();
  });

  test("says so after the time it was given, and works again later", async () => {
    const path = newPath();
    const journal = await openSqliteJournal(path, { busyTimeoutMs: 20 });
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    await expect(journal.createRun("r1", planned(), 1)).rejects.toMatchObject({ code: "JOURNAL_BUSY", path });
    other.exec("ROLLBACK");
    await journal.createRun("r1", planned(), 1);
    other.close();
    await journal.close();
  });

  test("flushes pending commits before it closes", async () => {
    const path = newPath();
    const journal = await openSqliteJournal(path);
    const writes = Array.from({ length: 600 }, (_, index) => journal.createRun(`r${index}`, planned(), index));
    await journal.close();
    await Promise.all(writes);
    const again = await openSqliteJournal(path);
    expect(await again.runs()).toHaveLength(600);
    await again.close();
  });

  test("reads more events than one page holds", async () => {
    const journal = await openSqliteJournal(newPath());
    await journal.createRun("r1", planned(), 1);
    const isDead = () => true;
    const who = { host: "h", bootId: "b", pid: 1, processStart: "s", instance: "a", program: "1.0.0" };
    await Promise.all(Array.from({ length: 4_100 }, () => journal.takeLease("r1", who, { at: 1, ttlMs: 1, isDead })));
    const seqs = async (options?: { afterSeq?: number; limit?: number }) =>
      (await journal.read("r1", options)).map((event) => event.seq);
    expect(await seqs()).toEqual(Array.from({ length: 4_101 }, (_, index) => index + 1));
    expect((await seqs({ afterSeq: 1_000, limit: 2_500 })).at(-1)).toBe(3_500);
    expect(await seqs({ limit: 2_000 })).toHaveLength(2_000);
    await journal.close();
  });
});

describe("Loading SQLite", () => {
  test("holds back its own warning and no other", () => {
    const load = pathToFileURL(join(import.meta.dirname, "../../../src/core/journal/sqlite/database.ts")).href;
    // A built-in that warns as node:sqlite does on Node 22, whichever Node runs this.
    const script = `
      const load = process.getBuiltinModule;
      process.getBuiltinModule = (name) => {
        process.emitWarning("SQLite is an experimental feature and might change at any time", "ExperimentalWarning");
        process.emitWarning("Another is experimental", "ExperimentalWarning");
        process.emitWarning("SQLite says something else", "Warning");
        return load.call(process, name);
      };
      const { loadSqlite } = await import(${JSON.stringify(load)});
      loadSqlite();
      process.emitWarning("SQLite later", "ExperimentalWarning");
    `;
    const args = ["--input-type=module", "--eval", `${script}`];
    const command = `"$0" "$@" 2>&1 >/dev/null`;
    const printed = execFileSync("sh", ["-c", command, process.execPath, ...args], { encoding: "utf8" });
    expect(printed).not.toContain("might change at any time");
    expect(printed).toContain("Another is experimental");
    expect(printed).toContain("SQLite says something else");
    expect(printed).toContain("SQLite later");
  });
});
