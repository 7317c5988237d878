import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isHolderDead, thisHolder } from "../../../src/core/journal/host.ts";
import type { JournalStore, Lease } from "../../../src/core/journal/store.ts";
import { openAt } from "./open-at.ts";
import { holder, nobodyIsDead, planned, started, takeLease } from "./samples.ts";
import { Worker } from "./worker.ts";

/** Tests for processes that share a journal. `place` returns the location of a new journal for each test. */
export function processesContract(name: string, place: () => string): void {
  describe(`A ${name} journal shared by processes`, () => {
    let path: string;
    let journal: JournalStore;
    let workers: Worker[];

    beforeEach(async () => {
      path = place();
      journal = await openAt(path);
      workers = [];
    });
    afterEach(async () => {
      await Promise.all(workers.map((worker) => worker.kill()));
      await journal.close();
    });

    async function workersOn(count: number, file = path): Promise<readonly Worker[]> {
      const added = Array.from({ length: count }, () => new Worker());
      workers.push(...added);
      await Promise.all(added.map((worker) => worker.call("open", file)));
      return added;
    }

    async function workerWithLease(runId: string, ttlMs = 1_000) {
      const [worker] = await workersOn(1);
      if (worker === undefined) throw new Error("no worker");
      const outcome = await worker.call("take", runId, 100, ttlMs);
      if (!outcome.acquired) throw new Error("the lease was not free");
      return { worker, lease: outcome.lease };
    }

    async function expectSound(runId: string) {
      const events = await journal.read(runId);
      expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
      return events;
    }

    test("is created once when four of them open it at the same moment", async () => {
      const fresh = place();
      const [first] = await workersOn(4, fresh);
      await first?.call("createRun", "r1");
      await Promise.all(workers.map((worker) => worker.call("take", "r1", 100, 1_000)));
      const own = await openAt(fresh);
      expect(await own.read("r1")).toHaveLength(2);
      await own.close();
    });

    test("gives each lease to exactly one of two racing processes", async () => {
      const ids = Array.from({ length: 30 }, (_, index) => `run-${index}`);
      await Promise.all(ids.map((id) => journal.createRun(id, planned(), 10)));
      const racers = await workersOn(2);
      const outcomes = await Promise.all(
        ids.map((id) => Promise.all(racers.map((racer) => racer.call("take", id, 100, 1_000)))),
      );
      for (const pair of outcomes) expect(pair.filter((outcome) => outcome.acquired)).toHaveLength(1);
      for (const id of ids) expect(await expectSound(id)).toHaveLength(2);
    });

    test("takes every commit of processes that write different runs at once", async () => {
      const ids = ["r1", "r2", "r3"];
      await Promise.all(ids.map((id) => journal.createRun(id, planned(), 10)));
      const holders = await Promise.all(ids.map((id) => workerWithLease(id)));
      await Promise.all(
        holders.map(async ({ worker, lease }) => {
          for (let seq = 2; seq < 102; seq += 1) {
            const outcome = await worker.call("commit", oneEvent(lease, seq));
            expect(outcome).toMatchObject({ committed: true, lastSeq: seq + 1 });
          }
        }),
      );
      for (const id of ids) expect(await expectSound(id)).toHaveLength(102);
    });

    test("accepts one of two commits by two processes at the same sequence number", async () => {
      await journal.createRun("r1", planned(), 10);
      const { lease } = await workerWithLease("r1");
      await workersOn(1);
      for (let seq = 2; seq < 52; seq += 1) {
        const outcomes = await Promise.all(workers.map((worker) => worker.call("commit", oneEvent(lease, seq))));
        expect(outcomes.map((outcome) => outcome.committed).sort()).toEqual([false, true]);
      }
      expect(await expectSound("r1")).toHaveLength(52);
    });

    test("has whole commits only, and every acknowledged one, after its writer was killed at any moment", async () => {
      await journal.createRun("r1", planned(), 10);
      let [lastSeq, acknowledged] = [1, 1];
      for (let round = 1; round <= 13; round += 1) {
        const { worker, lease } = await workerWithLease("r1");
        expect(lease.epoch).toBe(round);
        // What the killed one had sent is in the journal by now, or never will be.
        const events = await expectSound("r1");
        expect(events.length).toBeGreaterThan(acknowledged);
        const steps = events.slice(lastSeq, -1).map(({ event }) => ("step" in event ? event.step : event.type));
        expect(steps.length % 3).toBe(0);
        expect(steps.join("")).toBe("abc".repeat(steps.length / 3));
        lastSeq = events.length;

        const target = lastSeq + round * 9;
        const reached = new Promise<void>((resolve) => {
          worker.onAcknowledged = (seq) => seq >= target && resolve();
        });
        void worker.call("commitForever", lease, lastSeq);
        await reached;
        await worker.kill();
        acknowledged = worker.acknowledged;
      }
    });

    test("keeps money and events in step when the writer is killed", async () => {
      await journal.createRun("r1", planned(), 10);
      const { worker, lease } = await workerWithLease("r1");
      const reached = new Promise<void>((resolve) => {
        worker.onAcknowledged = (seq) => seq > 60 && resolve();
      });
      void worker.call("commitForever", lease, 2);
      await reached;
      await worker.kill();
      await workerWithLease("r1");
      const events = await expectSound("r1");
      expect(await journal.ledger("r1")).toEqual({ heldMicros: 0, settledMicros: (events.length - 3) / 3 });
    });

    test("replaces a killed holder at once and a living one not before its lease expires", async () => {
      await journal.createRun("r1", planned(), 10);
      const { worker } = await workerWithLease("r1");
      const attempt = () =>
        journal.takeLease("r1", thisHolder("next"), { at: 101, ttlMs: 1_000, isDead: isHolderDead });
      expect(await attempt()).toMatchObject({ acquired: false, heldBy: await worker.call("holder") });
      await worker.kill();
      expect(await attempt()).toMatchObject({ acquired: true, lease: { epoch: 2 } });
    });

    test("fences out a holder that was frozen for longer than its lease, though the next one wrote nothing yet", async () => {
      await journal.createRun("r1", planned(), 10);
      const { worker, lease } = await workerWithLease("r1");
      await worker.call("commit", oneEvent(lease, 2));
      worker.child.kill("SIGSTOP");
      const late = worker.call("commit", oneEvent(lease, 3));
      const taken = await journal.takeLease("r1", holder("next"), {
        ...{ at: lease.expiresAt + 1, ttlMs: 1_000, isDead: nobodyIsDead },
      });
      expect(taken).toMatchObject({ acquired: true, lease: { epoch: 2 } });
      worker.child.kill("SIGCONT");
      expect(await late).toEqual({ committed: false, reason: "fenced" });
      expect((await expectSound("r1")).map(({ event }) => event.type)).toEqual([
        ...["run.planned", "lease.acquired", "step.started", "lease.acquired"],
      ]);
    });

    test("tells a waiting process what another one wrote", async () => {
      await journal.createRun("r1", planned(), 10);
      const change = journal.waitForChange("r1", 1);
      const { worker } = await workerWithLease("r1");
      await change;
      await worker.call("send", "r1");
      expect(await journal.inbox("r1")).toHaveLength(1);
    });

    test("loses no message that is sent while the driver parks [G36]", async () => {
      await journal.createRun("r1", planned(), 10);
      const [sender] = await workersOn(1);
      const consumed = new Set<number>();
      let refused = 0;
      const consumeAll = async () => {
        const lease = await takeLease(journal, "r1", { by: holder("driver"), at: 1 });
        let seq = (await journal.run("r1"))?.lastSeq ?? 0;
        for (;;) {
          const entries = await journal.inbox("r1");
          const commit = { ...oneEvent(lease, seq), inbox: entries.map((entry) => entry.id), park: true };
          const outcome = await journal.commit(commit);
          if (outcome.committed) return void entries.forEach((entry) => void consumed.add(entry.id));
          expect(outcome.reason).toBe("inbox");
          refused += 1;
          seq = (await journal.run("r1"))?.lastSeq ?? 0;
        }
      };
      let everySent = false;
      const sendAll = async () => {
        const ids: number[] = [];
        for (let count = 0; count < 150; count += 1) ids.push((await sender?.call("send", "r1")) ?? 0);
        everySent = true;
        return ids;
      };
      const all = sendAll();
      while (!everySent) await consumeAll();
      await consumeAll();
      expect([...consumed].sort((a, b) => a - b)).toEqual(await all);
      expect(await journal.inbox("r1")).toEqual([]);
      console.log(`parks refused because of a message: ${refused}`);
    });
  });
}

function oneEvent(lease: Lease, afterSeq: number) {
  return { lease, afterSeq, at: 1, events: [started(`s${afterSeq}`)], status: "running" };
}
