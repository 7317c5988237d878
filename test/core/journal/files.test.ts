import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RunEvent } from "../../../src/core/journal/events.ts";
import { prepareSchema } from "../../../src/core/journal/sqlite/migrate.ts";
import { migrations } from "../../../src/core/journal/sqlite/schema.ts";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import { ownVersion } from "../../../src/core/kit/own-version.ts";
import { points } from "../../support/sample.ts";
import { holder, newPath, planned, started, takeLease } from "./samples.ts";
import { Worker } from "./worker.ts";

describe("A journal file", () => {
  let path: string;

  beforeEach(() => {
    path = newPath();
  });

  /** A closed journal with 60 runs: some 100 kB, everything in the one file. */
  async function writeJournal(file = path): Promise<Buffer> {
    const journal = await openSqliteJournal(file);
    await Promise.all(Array.from({ length: 60 }, (_, index) => journal.createRun(`r${index}`, longPlan(), 10)));
    await journal.close();
    return readFileSync(file);
  }

  async function expectUntouched(code: string, file = path) {
    const before = readFileSync(file);
    // One that was just written may be another process's in the making, and is looked at again for a while.
    utimesSync(file, 1, 1);
    const error = await openSqliteJournal(file).then(
      () => null,
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ code, path: file });
    expect(error.message).toContain(file);
    expect(readFileSync(file).equals(before)).toBe(true);
    return error;
  }

  test("is created private, with its folder, and is one file once it is closed [private files]", async () => {
    const deep = join(dirname(path), "a", "b", "journal.db");
    await writeJournal(deep);
    expect(statSync(deep).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(deep))).toEqual(["journal.db"]);
  });

  test("keeps its side files private too", async () => {
    const journal = await openSqliteJournal(path);
    await journal.createRun("r1", planned(), 10);
    for (const name of readdirSync(dirname(path))) expect(statSync(join(dirname(path), name)).mode & 0o077).toBe(0);
    expect(readdirSync(dirname(path))).toContain("journal.db-wal");
    await journal.close();
  });

  test("frees disk space when runs are removed", async () => {
    const full = (await writeJournal()).length;
    const journal = await openSqliteJournal(path);
    for (let index = 1; index < 60; index += 1) {
      expect(await journal.removeRun(`r${index}`, 20)).toEqual({ removed: true });
    }
    await journal.close();
    const empty = join(dirname(path), "empty.db");
    await (await openSqliteJournal(empty)).close();
    expect(statSync(path).size).toBeLessThan(statSync(empty).size + (full - statSync(empty).size) / 10);
    const again = await openSqliteJournal(path);
    expect(await again.read("r0")).toHaveLength(1);
    await again.close();
  });

  test("that is empty becomes a journal", async () => {
    writeFileSync(path, "");
    await writeJournal();
  });

  test("that another process is just making is not called damaged for what is not there yet", async () => {
    const whole = await writeJournal(join(dirname(path), "whole.db"));
    for (const size of [40, 100, whole.length / 2]) {
      writeFileSync(path, whole.subarray(0, size));
      setTimeout(() => writeFileSync(path, whole), 50);
      await (await openSqliteJournal(path)).close();
    }
  });

  test("of garbage or text is refused as no journal and left as it was", async () => {
    for (const bytes of [
      Buffer.from("not a journal\n"),
      Buffer.from("{}"),
      Buffer.alloc(50_000, 7),
      Buffer.alloc(8_192),
    ]) {
      writeFileSync(path, bytes);
      await expectUntouched("JOURNAL_NOT_A_JOURNAL");
      expect(readdirSync(dirname(path))).toEqual(["journal.db"]);
    }
  });

  test("of another program is refused as no journal and left as it was", async () => {
    const other = new DatabaseSync(path);
    other.exec("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')");
    other.close();
    await expectUntouched("JOURNAL_NOT_A_JOURNAL");
  });

  test("of another program that has it open is refused as no journal and left as it was", async () => {
    const other = new DatabaseSync(path);
    other.exec("PRAGMA journal_mode = WAL; CREATE TABLE bookmarks (url TEXT)");
    const log = readFileSync(`${path}-wal`);
    await expectUntouched("JOURNAL_NOT_A_JOURNAL");
    expect(readFileSync(`${path}-wal`).equals(log)).toBe(true);
    other.close();
  });

  test("that was cut anywhere is refused as truncated and left as it was [G45]", async () => {
    const whole = await writeJournal();
    const lengths = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: whole.length - 1 }));
    await fc.assert(
      fc.asyncProperty(lengths, async (length) => {
        writeFileSync(path, whole.subarray(0, length));
        const error = await expectUntouched("JOURNAL_CORRUPT");
        expect(error.message).toContain("truncated");
      }),
      { numRuns: 60 },
    );
  });

  test("that was emptied while its log was not is refused as truncated", async () => {
    const journal = await openSqliteJournal(path);
    await journal.createRun("r1", planned(), 10);
    const log = readFileSync(`${path}-wal`);
    await journal.close();
    writeFileSync(path, "");
    writeFileSync(`${path}-wal`, log);
    await expectUntouched("JOURNAL_CORRUPT");
    expect(readFileSync(`${path}-wal`).equals(log)).toBe(true);
  });

  test("with any page overwritten is refused as damaged and left as it was", async () => {
    const whole = await writeJournal();
    for (const page of points(whole.length / 4_096 - 1, 4)) {
      const damaged = Buffer.from(whole);
      damaged.fill(0x5a, page * 4_096, (page + 1) * 4_096);
      writeFileSync(path, damaged);
      await expectUntouched("JOURNAL_CORRUPT");
    }
  });

  test("of a newer Showrunner is refused with what to do, and left as it was [G45]", async () => {
    const newer = new DatabaseSync(path);
    prepareSchema(newer, path, [...migrations, { sql: "CREATE TABLE future (x INTEGER) STRICT" }]);
    newer.close();
    const error = await expectUntouched("JOURNAL_NEWER_VERSION");
    expect(error.message).toContain(`use Showrunner ${ownVersion()} or later`);
    expect(readdirSync(dirname(path))).toEqual(["journal.db"]);
  });

  test("of a version without a known writer is refused with what to do", async () => {
    const newer = new DatabaseSync(path);
    prepareSchema(newer, path, [...migrations, { sql: "CREATE TABLE future (x INTEGER) STRICT" }]);
    newer.exec("DROP TABLE migrations");
    newer.close();
    const error = await expectUntouched("JOURNAL_NEWER_VERSION");
    expect(error.message).toContain("update Showrunner");
  });

  test("that a newer Showrunner has just lifted, still in its log, is refused and left as it was", async () => {
    await writeJournal();
    const newer = new DatabaseSync(path);
    newer.exec("PRAGMA journal_mode = WAL");
    prepareSchema(newer, path, [...migrations, { sql: "CREATE TABLE future (x INTEGER) STRICT" }]);
    await expectUntouched("JOURNAL_NEWER_VERSION");
    newer.close();
  });

  test("that a newer Showrunner lifts while it is open takes no more writes from this one [G46]", async () => {
    const journal = await openSqliteJournal(path);
    await journal.createRun("r1", planned(), 10);
    const newer = new DatabaseSync(path);
    prepareSchema(newer, path, [...migrations, { sql: "CREATE TABLE future (x INTEGER) STRICT" }]);
    newer.close();
    await expect(journal.createRun("r2", planned(), 10)).rejects.toMatchObject({ code: "JOURNAL_NEWER_VERSION" });
    await journal.close();
  });

  test("that was deleted or replaced while it is open takes no more writes", async () => {
    const journal = await openSqliteJournal(path);
    await journal.createRun("r1", planned(), 10);
    rmSync(path);
    await expect(journal.createRun("r2", planned(), 10)).rejects.toMatchObject({ code: "JOURNAL_IO" });
    writeFileSync(path, "");
    await expect(journal.createRun("r2", planned(), 10)).rejects.toMatchObject({ code: "JOURNAL_IO" });
    await journal.close();
  });

  test.each([
    [
      "an endless view in place of a table",
      "ALTER TABLE runs RENAME TO old; CREATE VIEW runs AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS run_key FROM n",
      "index runs_newest",
    ],
    ["a trigger", "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM events; END", "trigger t"],
    ["a table more", "CREATE TABLE more (x)", "table more"],
    ["a column more", "ALTER TABLE runs ADD COLUMN more TEXT GENERATED ALWAYS AS (hex(zeroblob(1000)))", "table runs"],
    ["an index less", "DROP INDEX runs_newest", "index runs_newest"],
  ])("of somebody else with %s is refused and left as it was [foreign journals]", async (_, sql, part) => {
    await writeJournal();
    const raw = new DatabaseSync(path);
    raw.exec(`PRAGMA journal_mode = DELETE; ${sql}`);
    raw.close();
    const error = await expectUntouched("JOURNAL_NOT_A_JOURNAL");
    expect(error.message).toContain(`has a schema that Showrunner did not create (${part})`);
  });

  test("whose definitions have other comments is the same journal", async () => {
    await writeJournal();
    const raw = new DatabaseSync(path, { defensive: false });
    raw.exec(`PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '--', '-- Earlier words:')`);
    raw.close();
    const journal = await openSqliteJournal(path);
    expect(await journal.runs()).not.toEqual([]);
    await journal.close();
  });

  test.each([
    ["another mark", "PRAGMA application_id = 0x53687772"],
    ["no version", "PRAGMA user_version = 0"],
  ])("with %s is a database of another program, and left as it was", async (_, marks) => {
    await writeJournal();
    edit(marks);
    await expectUntouched("JOURNAL_NOT_A_JOURNAL");
  });

  test("with an event of a newer version reads up to it and names the event", async () => {
    await writeJournal();
    edit("UPDATE events SET version = 99 WHERE run_key = 1");
    const journal = await openSqliteJournal(path);
    const error = await journal.read("r0").catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "JOURNAL_NEWER_VERSION" });
    expect(error.message).toContain('Event 1 of run "r0"');
    expect(await journal.read("r1")).toHaveLength(1);
    await journal.close();
  });

  test("with an event that is missing or unreadable is reported as damaged, never skipped over", async () => {
    const journal = await openSqliteJournal(path);
    for (const id of ["r0", "r1", "r2", "r3"]) {
      await journal.createRun(id, planned(), 10);
      const lease = await takeLease(journal, id, { at: 1, ttlMs: 9 });
      const commit = { lease, at: 1, status: "running" };
      await journal.commit({ ...commit, afterSeq: 2, events: [started("a")] });
      await journal.commit({ ...commit, afterSeq: 3, events: [started("b"), started("c")] });
    }
    edit("DELETE FROM events WHERE run_key = 1 AND seq = 3");
    edit("UPDATE events SET body = substr(body, 3) WHERE run_key = 2 AND seq = 3");
    edit("UPDATE events SET body = '[]' WHERE run_key = 3 AND seq = 3");
    edit(`UPDATE events SET body = '{"type":"step.started","step":"c"}' WHERE run_key = 4 AND seq = 5`);
    for (const id of ["r0", "r1", "r2", "r3"]) {
      await expect(journal.read(id)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
    }
    await journal.close();
  });

  test.each([
    ["99.0.0", "JOURNAL_NEWER_VERSION", "Showrunner 99.0.0 wrote the event: use that version"],
    ["0.0.1", "JOURNAL_CORRUPT", "Showrunner 0.0.1, which wrote this part of the run, does not recognize the type"],
    [
      null,
      "JOURNAL_CORRUPT",
      "If a newer version of Showrunner wrote it, use that version; otherwise the file is damaged",
    ],
  ])(
    "with an event of unknown type, written by version %s, is refused and said to be %s [G47]",
    async (program, code, said) => {
      const journal = await openSqliteJournal(path);
      for (const id of ["r0", "r1"]) {
        await journal.createRun(id, planned(), 10);
        const by = { ...holder("a"), ...(program !== null && { program }) };
        const lease = await takeLease(journal, id, { by, at: 1, ttlMs: 9 });
        await journal.commit({ lease, afterSeq: 2, at: 1, events: [started("a")], status: "running" });
      }
      if (program === null) edit("UPDATE events SET body = json_remove(body, '$.program') WHERE seq = 2");
      edit(`UPDATE events SET body = '{"type":"job.teleported","step":"a"}' WHERE run_key = 1 AND seq = 3`);
      const error = await journal.read("r0").catch((thrown) => thrown);
      expect(error).toMatchObject({ code, message: expect.stringContaining(said) });
      expect(error.message).toContain('Event 3 of run "r0"');
      expect(error.message).toContain('"job.teleported"');
      expect(await journal.read("r1")).toHaveLength(3);
      await journal.close();
    },
  );

  test("is never written an event that this version does not know", async () => {
    const journal = await openSqliteJournal(path);
    await journal.createRun("r", planned(), 10);
    const lease = await takeLease(journal, "r", { at: 1, ttlMs: 9 });
    const events = [{ ...started("a"), type: "step.teleported" } as unknown as RunEvent];
    const commit = journal.commit({ lease, afterSeq: 2, at: 1, events, status: "running" });
    await expect(commit).rejects.toMatchObject({ code: "JOURNAL_RECORD_INVALID" });
    expect(await journal.read("r")).toHaveLength(2);
    await journal.close();
  });

  test("whose name is a folder, or whose folder is a file, is refused with the folder named", async () => {
    mkdirSync(path);
    await expect(openSqliteJournal(path)).rejects.toMatchObject({ code: "JOURNAL_FOLDER" });
    const file = join(dirname(path), "file");
    writeFileSync(file, "x");
    const below = join(file, "journal.db");
    await expect(openSqliteJournal(below)).rejects.toMatchObject({ code: "JOURNAL_FOLDER", path: below });
    expect(readFileSync(file, "utf8")).toBe("x");
  });

  describe("for a user who is not root", () => {
    let worker: Worker;

    beforeEach(async () => {
      worker = new Worker();
      await worker.call("dropRoot");
      chmodSync(dirname(path), 0o755);
    });
    afterEach(() => {
      // Whoever runs the tests, if not as root, must be able to remove what is in it.
      chmodSync(dirname(path), 0o755);
      return worker.kill();
    });

    async function expectReadOnly(): Promise<void> {
      expect(await worker.call("look")).toEqual({ runs: 60, events: 1 });
      const refusals = [worker.call("createRun", "new"), worker.call("take", "r1", 1, 9), worker.call("send", "r1")];
      for (const refusal of refusals) await expect(refusal).rejects.toMatchObject({ code: "JOURNAL_READ_ONLY" });
    }

    test("that is read-only can be read, takes no write and is left as it was", async () => {
      const before = await writeJournal();
      chmodSync(path, 0o444);
      await worker.call("open", path);
      await expectReadOnly();
      expect(readFileSync(path).equals(before)).toBe(true);
    });

    test("in a folder that cannot be written can be read, takes no write and is left as it was", async () => {
      const before = await writeJournal();
      chmodSync(path, 0o666);
      chmodSync(dirname(path), 0o555);
      await worker.call("open", path);
      await expectReadOnly();
      expect(readdirSync(dirname(path))).toEqual([basename(path)]);
      expect(readFileSync(path).equals(before)).toBe(true);
    });

    test("in such a folder with a log that a killed process left is refused: what it says last could not be read", async () => {
      await writeJournal();
      const killed = new Worker();
      await killed.call("open", path);
      await killed.call("createRun", "last");
      await killed.kill();
      rmSync(`${path}-shm`);
      chmodSync(path, 0o444);
      chmodSync(`${path}-wal`, 0o444);
      chmodSync(dirname(path), 0o555);
      await expect(worker.call("open", path)).rejects.toMatchObject({
        code: "JOURNAL_READ_ONLY",
        message: expect.stringContaining(
          "copy the journal and its log files to another folder and use the copy (--journal FILE)",
        ),
      });
    });

    test("is not created where its folder cannot be", async () => {
      chmodSync(dirname(path), 0o555);
      const below = join(dirname(path), "new", "journal.db");
      await expect(worker.call("open", below)).rejects.toMatchObject({ code: "JOURNAL_FOLDER" });
      await expect(worker.call("open", path)).rejects.toMatchObject({ code: "JOURNAL_FOLDER" });
      expect(existsSync(path)).toBe(false);
    });
  });

  function edit(sql: string): void {
    const raw = new DatabaseSync(path);
    raw.exec(sql);
    raw.close();
  }
});

function longPlan() {
  return { ...planned(), input: { script: "word ".repeat(300) } };
}
