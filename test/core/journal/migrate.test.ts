import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, statSync, watch, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { EVENT_VERSION } from "../../../src/core/journal/events.ts";
import { copyOf, newestVersion, prepareSchema } from "../../../src/core/journal/sqlite/migrate.ts";
import { migrations } from "../../../src/core/journal/sqlite/schema.ts";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import { ownVersion } from "../../../src/core/kit/own-version.ts";
import { madeUp } from "./fixtures/lift-journal.ts";
import { newPath, planned, started, takeLease } from "./samples.ts";

const fixture = fileURLToPath(new URL("./fixtures/lift-journal.ts", import.meta.url));

const RUNS = 20;
const EVENTS = 3 * RUNS;
const OLD = newestVersion();
const NEW = newestVersion(madeUp());

test("the events that are written are of the journal's version", () => {
  expect(EVENT_VERSION).toBe(newestVersion());
});

describe("a journal of an older version", () => {
  let path: string;

  beforeEach(async () => {
    path = newPath();
    const journal = await openSqliteJournal(path);
    for (let index = 0; index < RUNS; index += 1) {
      const runId = `r${index}`;
      await journal.createRun(runId, planned(), 10);
      const lease = await takeLease(journal, runId, { at: 20 });
      await journal.commit({
        ...{ lease, afterSeq: 2, at: 30, events: [started("face")], status: "running" },
        snapshot: { foldVersion: 1, seq: 3, state: "{}" },
      });
    }
    await journal.close();
  });

  /** How often each event was lifted, what the file says of its version, and whether it is sound. */
  function look(file = path) {
    const db = new DatabaseSync(file);
    const version = Number(db.prepare("PRAGMA user_version").get()?.user_version);
    const bodies = db
      .prepare("SELECT body FROM events")
      .all()
      .map(({ body }) => JSON.parse(String(body)));
    const counts = new Set(bodies.map(({ lifted = 0 }) => lifted));
    const sound = db.prepare("PRAGMA integrity_check").get()?.integrity_check;
    const snapshots = Number(db.prepare("SELECT count(*) AS n FROM snapshots").get()?.n);
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE name = 'future'").all().length;
    db.close();
    return { version, events: bodies.length, lifted: [...counts], sound, snapshots, tables };
  }

  const old = { version: OLD, events: EVENTS, lifted: [0], sound: "ok", snapshots: RUNS, tables: 0 };
  const lifted = { version: NEW, events: EVENTS, lifted: [2], sound: "ok", snapshots: 0, tables: 1 };

  function lift() {
    const db = new DatabaseSync(path);
    try {
      prepareSchema(db, path, madeUp());
    } finally {
      db.close();
    }
  }

  async function liftElsewhere(killAt: number | "never"): Promise<number | null> {
    const child = spawn(process.execPath, [fixture, path, String(killAt)], { stdio: ["ignore", "ignore", "inherit"] });
    const [code] = await once(child, "exit");
    return code as number | null;
  }

  const names = () => readdirSync(dirname(path)).filter((name) => !/-(wal|shm)$/.test(name));

  test("is lifted through every version after it, and stays beside it as it was, as private as it is [G46]", () => {
    lift();
    expect(look()).toEqual(lifted);
    const copy = copyOf(path, OLD);
    expect(look(copy)).toEqual(old);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(names()).toEqual(["journal.db", `journal.db.version-${OLD}`]);
    const db = new DatabaseSync(path);
    expect(db.prepare("SELECT version, program FROM migrations ORDER BY version").all()).toEqual(
      Array.from({ length: NEW }, (_, index) => ({ version: index + 1, program: ownVersion() })),
    );
    expect(db.prepare("SELECT DISTINCT version FROM events").all()).toEqual([{ version: NEW }]);
    db.close();
  });

  test("can be reverted: its backup is a journal that the older Showrunner opens", async () => {
    lift();
    const journal = await openSqliteJournal(copyOf(path, OLD));
    expect(await journal.runs()).toHaveLength(RUNS);
    await journal.close();
  });

  test.each([1, EVENTS, EVENTS + 1, 2 * EVENTS])(
    "is the old one whole when its process is killed at event %i of the lift, and is lifted by the next one [G46]",
    async (killAt) => {
      expect(await liftElsewhere(killAt)).toBeNull();
      expect(look()).toEqual(old);
      lift();
      expect(look()).toEqual(lifted);
      expect(look(copyOf(path, OLD))).toEqual(old);
    },
  );

  test("is the old one or the new one when its process is killed while it makes the copy [G46]", async () => {
    const child = spawn(process.execPath, [fixture, path, "never"], { stdio: ["ignore", "ignore", "inherit"] });
    const watcher = watch(dirname(path), (_kind, name) => {
      if (name?.endsWith(".part")) child.kill("SIGKILL");
    });
    await once(child, "exit");
    watcher.close();
    expect([old, lifted]).toContainEqual(look());
    lift();
    expect(look()).toEqual(lifted);
    expect(names()).toEqual(["journal.db", `journal.db.version-${OLD}`]);
  });

  test("is lifted once when two processes open it at the same time [G46]", async () => {
    expect(await Promise.all([liftElsewhere("never"), liftElsewhere("never")])).toEqual([0, 0]);
    expect(look()).toEqual(lifted);
    expect(look(copyOf(path, OLD))).toEqual(old);
    expect(names()).toEqual(["journal.db", `journal.db.version-${OLD}`]);
  });

  test("is judged as it is at one moment, though another process lifts it between two reads [G46]", () => {
    const db = new DatabaseSync(path);
    const prepare = db.prepare.bind(db);
    db.prepare = (sql: string) => {
      if (sql.includes("sqlite_schema")) {
        db.prepare = prepare;
        lift();
      }
      return prepare(sql);
    };
    prepareSchema(db, path, madeUp());
    db.close();
    expect(look()).toEqual(lifted);
  });

  test("stays as it is when a step of the lift fails, also the last one", () => {
    const db = new DatabaseSync(path);
    const broken = [...madeUp(), { sql: "CREATE TABLE broken (" }];
    expect(() => prepareSchema(db, path, broken)).toThrow();
    db.close();
    expect(look()).toEqual(old);
  });

  test("stays as it is when an event cannot be read, and the message names it", () => {
    const db = new DatabaseSync(path);
    db.exec("UPDATE events SET body = '{' WHERE seq = 2 AND run_key = 3");
    expect(() => prepareSchema(db, path, madeUp())).toThrow(/Event 2 of run "r2" .* Nothing was changed/);
    expect(db.prepare("PRAGMA user_version").get()).toEqual({ user_version: OLD });
    db.close();
  });

  test("stays as it is when the copy cannot be written, and the message says what to do", () => {
    mkdirSync(copyOf(path, OLD));
    writeFileSync(join(copyOf(path, OLD), "x"), "");
    expect(lift).toThrow(
      /Nothing was changed. Make the folder writable, or move any existing file with the name of the copy/,
    );
    expect(look()).toEqual(old);
    expect(names()).toEqual(["journal.db", `journal.db.version-${OLD}`]);
  });

  test("replaces the backup of an earlier migration that failed", () => {
    writeFileSync(copyOf(path, OLD), "left over");
    writeFileSync(`${copyOf(path, OLD)}.part`, "left over");
    lift();
    expect(look(copyOf(path, OLD))).toEqual(old);
    expect(names()).toEqual(["journal.db", `journal.db.version-${OLD}`]);
  });

  test("of the newest version is not copied", () => {
    const db = new DatabaseSync(path);
    prepareSchema(db, path, migrations);
    db.close();
    expect(names()).toEqual(["journal.db"]);
  });
});
