import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openSqliteJournal } from "../../src/journal/sqlite.ts";
import { holder, nobodyIsDead, planned, started } from "./samples.ts";

const folder = mkdtempSync(join(tmpdir(), "journal-log-room-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Bytes of the log up to its last frame: what follows is zeros. */
function usedBytes(path: string): number {
  const log = readFileSync(`${path}-wal`);
  let used = log.length;
  while (log[used - 1] === 0) used -= 1;
  return used;
}

test("The log has room ahead of its end, and at any moment a copy of both files reads whole", async () => {
  const path = join(folder, "journal.db");
  const [journal, other] = [await openSqliteJournal(path), await openSqliteJournal(path)];
  await journal.createRun("r", planned(), 1);
  await other.createRun("other", planned(), 1);
  const taking = { at: 1, ttlMs: 9, isDead: nobodyIsDead };
  const outcomes = [
    await journal.takeLease("r", holder("a"), taking),
    await other.takeLease("other", holder("b"), taking),
  ];
  const [lease, otherLease] = outcomes.map((outcome) => (outcome.acquired ? outcome.lease : null));
  const sizes = new Set<number>();
  // In all more than the eight megabytes after which SQLite begins the log anew.
  for (let afterSeq = 2; afterSeq < 402; afterSeq += 1) {
    const commit = { afterSeq, at: afterSeq, status: "running", events: [started("x".repeat(700))] };
    expect(await journal.commit({ ...commit, lease: lease! })).toMatchObject({ committed: true });
    expect(await other.commit({ ...commit, lease: otherLease! })).toMatchObject({ committed: true });
    const { size } = statSync(`${path}-wal`);
    sizes.add(size);
    if (afterSeq > 40 && size < 7 * 1024 * 1024) expect(size - usedBytes(path)).toBeGreaterThan(0);
    if (afterSeq % 50 !== 0) continue;
    const copy = join(folder, `${afterSeq}`, "journal.db");
    mkdirSync(join(copy, ".."));
    for (const file of ["", "-wal"]) copyFileSync(`${path}${file}`, `${copy}${file}`);
    const copied = await openSqliteJournal(copy);
    const lastSeq = afterSeq + 1;
    expect(await copied.read("r")).toEqual(await journal.read("r"));
    expect(await copied.run("r")).toMatchObject({ lastSeq, updatedAt: afterSeq });
    expect(await copied.run("other")).toMatchObject({ lastSeq, updatedAt: afterSeq });
    await copied.close();
  }
  expect(sizes.size).toBeGreaterThan(10);
  expect(sizes.size).toBeLessThan(40);
  await Promise.all([journal.close(), other.close()]);
});
