import { randomBytes } from "node:crypto";
import { statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import type { Lease } from "../../../src/core/journal/store.ts";
import { describeNeeding } from "../../support/absence.ts";
import { fillDisk, noSmallDisk, smallDisk } from "../../support/small-disk.ts";
import { planned, started, takeLease } from "./samples.ts";

const disk = smallDisk("16m");
afterAll(() => disk?.unmount());

describeNeeding(disk === null ? noSmallDisk : null)("A journal on a disk that fills up", () => {
  const folder = disk!.path;
  const path = join(folder, "journal.db");
  /** What is large and cannot be packed: ten of them are more than what the log has left of an earlier round. */
  const big = () => started(randomBytes(80_000).toString("hex"));
  let journal: Awaited<ReturnType<typeof openSqliteJournal>>;
  let lease: Lease;

  const commit = (afterSeq: number, count: number) =>
    journal.commit({
      ...{ lease, afterSeq, at: 1, events: Array.from({ length: count }, big), status: "running" },
      ledger: [{ type: "hold", step: `after-${afterSeq}`, attempt: 1, amountMicros: 1 }],
    });

  beforeAll(async () => {
    journal = await openSqliteJournal(path);
    await journal.createRun("r1", planned(), 10);
    lease = await takeLease(journal, "r1", { at: 1, ttlMs: 9 });
  });
  afterAll(() => journal.close());

  test("reports it, commits nothing, still reads, and continues once there is free space", async () => {
    await commit(2, 1);
    for (let round = 0; round < 3; round += 1) {
      const lastSeq = 3 + round * 10;
      const makeRoom = fillDisk(folder);
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const error = await commit(lastSeq, 10).catch((thrown) => thrown);
        expect(error).toMatchObject({ code: "JOURNAL_DISK_FULL", path });
        expect(error.message).toContain("Free some space");
      }
      expect(await journal.read("r1")).toHaveLength(lastSeq);
      expect(await journal.ledger("r1")).toEqual({ heldMicros: 1 + round, settledMicros: 0 });
      makeRoom();
      expect(await commit(lastSeq, 10)).toMatchObject({ committed: true, lastSeq: lastSeq + 10 });
    }
  });

  test("refuses the commit that does not fit and accepts a concurrent small one", async () => {
    await journal.createRun("r2", planned(), 10);
    const makeRoom = fillDisk(folder);
    const ballast = join(folder, "ballast");
    truncateSync(ballast, statSync(ballast).size - 65_536);
    const { lastSeq = 0 } = (await journal.run("r1")) ?? {};
    const outcomes = await Promise.allSettled([commit(lastSeq, 60), journal.send("r2", { type: "stop" }, 1)]);
    makeRoom();
    expect(outcomes[0]).toMatchObject({ status: "rejected", reason: { code: "JOURNAL_DISK_FULL" } });
    expect(outcomes[1]).toMatchObject({ status: "fulfilled" });
    expect(await journal.inbox("r2")).toHaveLength(1);
    expect(await journal.read("r1")).toHaveLength(lastSeq);
  });

  test("cannot be created there until there is free space", async () => {
    const makeRoom = fillDisk(folder);
    const second = join(folder, "second.db");
    await expect(openSqliteJournal(second)).rejects.toMatchObject({ code: "JOURNAL_DISK_FULL" });
    makeRoom();
    await (await openSqliteJournal(second)).close();
  });
});
