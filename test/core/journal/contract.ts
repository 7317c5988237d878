import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isDeliverable, jobsOf } from "../../../src/core/journal/deliveries.ts";
import { EVENT_VERSION, type RunEvent } from "../../../src/core/journal/events.ts";
import { accountOf } from "../../../src/core/journal/record.ts";
import { LISTED_MS, type ReviewLinkRow } from "../../../src/core/journal/review-links.ts";
import type { Commit, JournalStore, Lease } from "../../../src/core/journal/store.ts";
import { ON_TIME_MS, REMEMBERED_MS } from "../../../src/core/journal/store.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import { account, holder, nobodyIsDead, planned, started, submitted, takeLease } from "./samples.ts";

const hold = (step: string, amountMicros: number) => ({ type: "hold", step, attempt: 1, amountMicros }) as const;
const settle = (step: string, costMicros: number) => ({ type: "settle", step, attempt: 1, costMicros }) as const;
const charged = (step: string) => ({ type: "charged", step, attempt: 1 }) as const;
const release = (step: string) => ({ type: "release", step, attempt: 1 }) as const;
/** The totals of a ledger: what is held, then what is settled. */
const money = (heldMicros: number, settledMicros: number) => ({ heldMicros, settledMicros });
const moved = { type: "run.account.moved", baseUrl: "https://new.test/v3", keyId: "key_9", jobId: null } as const;

type Open = (options: { readonly now: () => number }) => Promise<JournalStore>;

/** Tests that every journal store must pass. */
export function journalContract(name: string, open: Open): void {
  describe(`The ${name} journal`, () => {
    let journal: JournalStore;
    let now = 1_000;

    beforeEach(async () => {
      now = 1_000;
      journal = await open({ now: () => now });
    });
    afterEach(() => journal.close());

    const take = (runId: string, instance = "a", at = 100, ttlMs = 1_000) =>
      takeLease(journal, runId, { by: holder(instance), at, ttlMs });

    /** Creates a run with a held lease. Its events are `run.planned` and `lease.acquired`, so the next event is number 3. */
    async function held(runId = "r1"): Promise<Lease> {
      await journal.createRun(runId, planned(), 10);
      return take(runId);
    }

    function commit(lease: Lease, afterSeq: number, events: readonly RunEvent[], more: Partial<Commit> = {}) {
      return journal.commit({ lease, afterSeq, at: 200, events, status: "running", ...more });
    }

    describe("runs", () => {
      test("a new run has its plan as event 1 and reads back exactly", async () => {
        await journal.createRun("r1", planned(), 10);
        expect(await journal.read("r1")).toEqual([
          { runId: "r1", seq: 1, at: 10, version: EVENT_VERSION, event: planned() },
        ]);
        expect(await journal.run("r1")).toEqual({
          ...{
            runId: "r1",
            pipeline: "sample",
            title: null,
            account,
            createdAt: 10,
            updatedAt: 10,
            lease: null,
            lastSeq: 1,
            status: "planned",
            wakeAt: null,
            tags: {},
            resumeAt: null,
          },
        });
      });

      test("a second run under the same id is refused and the first stays as it was", async () => {
        await journal.createRun("r1", planned(), 10);
        const again = journal.createRun("r1", { ...planned(), nonce: "other" }, 20);
        await expect(again).rejects.toMatchObject({ code: "RUN_EXISTS", runId: "r1" });
        expect(await journal.read("r1")).toHaveLength(1);
      });

      test("an unknown run has no row, and everything else about it is refused by name", async () => {
        const unknown = { code: "RUN_UNKNOWN", runId: "nope" };
        const lease = { runId: "nope", epoch: 1, expiresAt: 0 };
        expect(await journal.run("nope")).toBeNull();
        await expect(journal.read("nope")).rejects.toMatchObject(unknown);
        await expect(journal.snapshot("nope")).rejects.toMatchObject(unknown);
        await expect(journal.send("nope", { type: "stop" }, 1)).rejects.toMatchObject(unknown);
        await expect(journal.inbox("nope")).rejects.toMatchObject(unknown);
        await expect(journal.ledger("nope")).rejects.toMatchObject(unknown);
        await expect(journal.progress("nope")).rejects.toMatchObject(unknown);
        await expect(journal.waitForChange("nope", 0)).rejects.toMatchObject(unknown);
        await expect(commit(lease, 0, [])).rejects.toMatchObject(unknown);
        await expect(take("nope")).rejects.toMatchObject(unknown);
      });

      test("runs are listed newest first, by creation and then by order, in pages", async () => {
        for (const [id, at] of Object.entries({ a: 1, b: 2, c: 2, d: 3 })) await journal.createRun(id, planned(), at);
        const ids = async (options?: { limit?: number; before?: number }) =>
          (await journal.runs(options)).map((run) => run.runId);
        expect(await ids()).toEqual(["d", "c", "b", "a"]);
        expect(await ids({ limit: 2 })).toEqual(["d", "c"]);
        expect(await ids({ before: 2 })).toEqual(["a"]);
      });

      test("runs are found by words of their id, title, tags and input, in any case, and by no pattern", async () => {
        const input = { look: "50% Wool_scarf", sizes: [38, { fit: "O'Neil \\ \u0000 \ud800 ÉTÉ" }], none: null };
        await journal.createRun("Ad-1", { ...planned(), title: "Wool scarf 16", tags: { client: "acme" }, input }, 1);
        await journal.createRun("ad-2", { ...planned(), title: "Silk tie", input: "x".repeat(20_000) }, 2);
        await journal.createRun("ad-3", planned(), 3);
        const ids = async (search: string) => (await journal.runs({ search })).map(({ runId }) => runId);
        expect((await journal.run("Ad-1"))?.title).toBe("Wool scarf 16");
        for (const own of [
          "wool SCARF",
          "client=acme",
          "ad-1",
          "38",
          "50%",
          "wool_scarf",
          "o'neil",
          "été",
          "sample scarf",
        ])
          expect([own, await ids(own)]).toEqual([own, ["Ad-1"]]);
        expect(await ids("xxx")).toEqual(["ad-2"]);
        expect(await ids("  sample\tAD ")).toEqual(["ad-3", "ad-2", "Ad-1"]);
        for (const none of ["wool tie", "w__l", "w%l", "look", "fit"])
          expect([none, await ids(none)]).toEqual([none, []]);
        // What a database takes in no text is a character like others.
        expect(await ids("\u0000 \ud800")).toEqual(["Ad-1"]);
        expect(await journal.runs({ search: "ad", limit: 1, before: 3 })).toMatchObject([{ runId: "ad-2" }]);
        await journal.removeRun("Ad-1", 9);
        expect(await ids("wool")).toEqual([]);
      });

      test("runs are listed by the tags that they carry, all of those asked for", async () => {
        const tags = { team: "video", user: "Grüße, 世界=1" };
        await journal.createRun("a", { ...planned(), tags }, 1);
        await journal.createRun("b", { ...planned(), tags: { team: "video" } }, 2);
        await journal.createRun("c", planned(), 3);
        const ids = async (
          wanted: { readonly [key: string]: string },
          more: { limit?: number; before?: number } = {},
        ) => (await journal.runs({ ...more, tags: wanted })).map(({ runId }) => runId);
        expect((await journal.run("a"))?.tags).toEqual(tags);
        expect(await ids({ team: "video" })).toEqual(["b", "a"]);
        expect(await ids({ team: "video" }, { before: 2 })).toEqual(["a"]);
        expect(await ids({ team: "video" }, { limit: 1 })).toEqual(["b"]);
        expect(await ids(tags)).toEqual(["a"]);
        expect([await ids({ team: "vide" }), await ids({})]).toEqual([[], ["c", "b", "a"]]);
        await journal.removeRun("a", 9);
        expect(await ids({ team: "video" })).toEqual(["b"]);
      });

      test("a run says from when on it may go on by itself, until its next commit", async () => {
        const lease = await held();
        await commit(lease, 2, [started("a")], { resumeAt: 5_000 });
        expect((await journal.run("r1"))?.resumeAt).toBe(5_000);
        await commit(lease, 3, [started("b")]);
        expect((await journal.run("r1"))?.resumeAt).toBeNull();
      });

      test("events are read from a position and up to a number", async () => {
        const lease = await held();
        await commit(lease, 2, [started("a"), started("b"), started("c")]);
        const seqs = async (options: { afterSeq?: number; limit?: number }) =>
          (await journal.read("r1", options)).map((event) => event.seq);
        expect(await seqs({ afterSeq: 2 })).toEqual([3, 4, 5]);
        expect(await seqs({ afterSeq: 1, limit: 2 })).toEqual([2, 3]);
        expect(await seqs({ afterSeq: 5 })).toEqual([]);
        expect(await seqs({ limit: 0 })).toEqual([]);
      });
    });

    describe("the lease", () => {
      test("taking it appends an event that names epoch and holder", async () => {
        await journal.createRun("r1", planned(), 10);
        expect(await take("r1", "a", 100, 50)).toEqual({ runId: "r1", epoch: 1, expiresAt: 150 });
        expect((await journal.read("r1"))[1]).toEqual({
          ...{ runId: "r1", seq: 2, at: 100, version: EVENT_VERSION },
          event: { type: "lease.acquired", epoch: 1, holder: "h:1:a", program: "1.0.0" },
        });
      });

      test("a held lease is refused with its holder, until the instant after it expires", async () => {
        await journal.createRun("r1", planned(), 10);
        await take("r1", "a", 100, 50);
        const attempt = (at: number) => journal.takeLease("r1", holder("b"), { at, ttlMs: 50, isDead: nobodyIsDead });
        expect(await attempt(150)).toEqual({ acquired: false, heldBy: holder("a"), expiresAt: 150 });
        expect(await journal.read("r1")).toHaveLength(2);
        expect(await attempt(151)).toMatchObject({ acquired: true, lease: { epoch: 2, expiresAt: 201 } });
      });

      test("a dead holder is replaced at once", async () => {
        await held();
        const isDead = (who: { instance: string }) => who.instance === "a";
        const outcome = await journal.takeLease("r1", holder("b"), { at: 101, ttlMs: 50, isDead });
        expect(outcome).toMatchObject({ acquired: true, lease: { epoch: 2 } });
      });

      test("a released lease is free, and the next holder's epoch is higher all the same", async () => {
        await journal.releaseLease(await held());
        expect(await take("r1", "b")).toMatchObject({ epoch: 2 });
      });

      test("held, parked with or released: the run's row says what its last commit left", async () => {
        const row = async () => ({ ...(await journal.run("r1")), listed: (await journal.runs())[0] });
        const events = [started("a"), started("b")];
        await journal.createRun("r1", planned(), 10);
        for (const end of ["release", "park"] as const) {
          const lease = await take("r1", end);
          const { lastSeq = 0 } = (await journal.run("r1")) ?? {};
          await commit(lease, lastSeq, events, { at: 300 + lastSeq });
          const left = { lastSeq: lastSeq + 2, updatedAt: 300 + lastSeq, status: "running" };
          expect(await row()).toMatchObject({ ...left, listed: left });
          await commit(lease, lastSeq + 2, [], { at: 400 });
          expect(await row()).toMatchObject({ ...left, updatedAt: 400, listed: { ...left, updatedAt: 400 } });
          await commit(lease, lastSeq + 2, [started("c")], { at: 500 });
          const last = { ...left, lastSeq: lastSeq + 3, updatedAt: 500, lease: null };
          if (end === "release") await journal.releaseLease(lease);
          else await commit(lease, lastSeq + 3, [], { at: 500, park: true });
          expect(await row()).toMatchObject({ ...last, listed: last });
        }
      });

      test("a lease that was lost releases nothing and renews nothing", async () => {
        const lost = await held();
        const kept = await take("r1", "b", 5_000);
        await journal.releaseLease(lost);
        expect(await journal.renewLease(lost, { at: 5_001, ttlMs: 10 })).toBe(false);
        expect(await commit(kept, 3, [started("a")])).toMatchObject({ committed: true, lastSeq: 4 });
      });

      test("a renewed lease holds until its new expiry, and commits say so", async () => {
        const lease = await held();
        expect(await journal.renewLease(lease, { at: 1_000, ttlMs: 500 })).toBe(true);
        const attempt = await journal.takeLease("r1", holder("b"), { at: 1_400, ttlMs: 1, isDead: nobodyIsDead });
        expect(attempt).toMatchObject({ acquired: false, expiresAt: 1_500 });
        expect(await commit(lease, 2, [])).toEqual({
          committed: true,
          lastSeq: 2,
          tail: 2,
          lease: { ...lease, expiresAt: 1_500 },
          committedMicros: [],
        });
      });
    });

    describe("a commit", () => {
      test("appends events, status and snapshot together", async () => {
        const lease = await held();
        const snapshot = { foldVersion: 1, seq: 4, state: '{"steps":{"a":"running"}}' };
        const outcome = await commit(lease, 2, [{ type: "run.started" }, started("a")], { snapshot });
        expect(outcome).toEqual({ committed: true, lastSeq: 4, tail: 0, lease, committedMicros: [] });
        expect(await journal.snapshot("r1")).toEqual(snapshot);
        expect(await journal.run("r1")).toMatchObject({ status: "running", lastSeq: 4, updatedAt: 200, createdAt: 10 });
      });

      test("of a replaced holder is fenced and changes nothing, also when the new holder wrote nothing yet", async () => {
        const old = await held();
        await take("r1", "b", 5_000);
        const entry = await journal.send("r1", { type: "stop" }, 1);
        for (const afterSeq of [2, 3]) {
          const outcome = await commit(old, afterSeq, [started("a")], {
            ledger: [hold("a", 5)],
            inbox: [entry],
            park: true,
          });
          expect(outcome).toEqual({ committed: false, reason: "fenced" });
        }
        expect(await journal.read("r1")).toHaveLength(3);
        expect(await journal.inbox("r1")).toHaveLength(1);
        expect(await journal.ledger("r1")).toEqual(money(0, 0));
      });

      test("of a holder that gave the lease back is fenced", async () => {
        const lease = await held();
        await journal.releaseLease(lease);
        expect(await commit(lease, 2, [started("a")])).toEqual({ committed: false, reason: "fenced" });
      });

      test("after another sequence number than the last is fenced", async () => {
        const lease = await held();
        await commit(lease, 2, [started("a")]);
        for (const afterSeq of [2, 4]) {
          expect(await commit(lease, afterSeq, [started("b")])).toEqual({ committed: false, reason: "fenced" });
        }
        expect(await journal.read("r1")).toHaveLength(3);
      });

      test("of an expired holder whom nobody replaced still counts", async () => {
        const lease = await held();
        expect(await commit(lease, 2, [started("a")], { at: 999_999 })).toMatchObject({ committed: true });
      });

      test("that breaks the rules is refused before anything is written", async () => {
        const lease = await held();
        const invalid = { code: "JOURNAL_RECORD_INVALID" };
        await expect(commit(lease, 2, [], { ledger: [hold("a", 0.5)] })).rejects.toMatchObject(invalid);
        await expect(commit(lease, 2, [], { ledger: [hold("a", -1)] })).rejects.toMatchObject(invalid);
        const snapshot = { foldVersion: 1, seq: 4, state: "null" };
        await expect(commit(lease, 2, [started("a")], { snapshot })).rejects.toMatchObject(invalid);
        expect(await journal.read("r1")).toHaveLength(2);
      });

      test("never shares objects with its reader", async () => {
        const lease = await held();
        const event = { type: "step.started", step: "a" };
        await commit(lease, 2, [event as RunEvent]);
        event.step = "changed";
        expect((await journal.read("r1"))[2]?.event).toEqual(started("a"));
      });

      test("is as atomic among concurrent commits as alone", async () => {
        const ids = Array.from({ length: 40 }, (_, index) => `run-${index}`);
        const leases = await Promise.all(ids.map((id) => held(id)));
        const outcomes = await Promise.all(
          leases.map((lease, index) => commit(lease, index % 4 === 0 ? 9 : 2, [started("a"), started("b")])),
        );
        expect(outcomes.map((outcome) => outcome.committed)).toEqual(ids.map((_, index) => index % 4 !== 0));
        const lengths = await Promise.all(ids.map(async (id) => (await journal.read(id)).length));
        expect(lengths).toEqual(ids.map((_, index) => (index % 4 === 0 ? 2 : 4)));
      });

      test("says how many events no snapshot holds, so that the writer knows when one is due", async () => {
        const lease = await held();
        expect(await commit(lease, 2, [started("a")])).toMatchObject({ tail: 3 });
        const snapshot = { foldVersion: 1, seq: 4, state: "{}" };
        expect(await commit(lease, 3, [started("b")], { snapshot })).toMatchObject({ tail: 0 });
        await journal.releaseLease(lease);
        expect(await commit(await take("r1", "b"), 5, [started("c"), started("d")])).toMatchObject({ tail: 3 });
      });

      test("that is large reads back exactly, from any event on", async () => {
        const lease = await held();
        const events = Array.from({ length: 500 }, (_, index) => started(`step-${index}-${"é".repeat(index % 7)}`));
        await commit(lease, 2, events.slice(0, 499));
        await commit(lease, 501, events.slice(499));
        expect((await journal.read("r1", { afterSeq: 2 })).map(({ event }) => event)).toEqual(events);
        const some = await journal.read("r1", { afterSeq: 300, limit: 3 });
        expect(some.map(({ seq, event }) => [seq, event])).toEqual(
          [301, 302, 303].map((seq) => [seq, events[seq - 3]]),
        );
      });

      test("for a run that does not exist spoils none of those beside it", async () => {
        const [first, second] = [await held("r1"), await held("r2")];
        const outcomes = await Promise.allSettled([
          commit(first, 2, [started("a")]),
          commit({ ...first, runId: "nope" }, 2, [started("a")]),
          journal.createRun("r1", planned(), 20),
          commit(second, 2, [started("a")]),
        ]);
        expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
        expect([await journal.read("r1"), await journal.read("r2")]).toMatchObject([{ length: 3 }, { length: 3 }]);
      });
    });

    describe("the inbox", () => {
      test("keeps messages in order until a commit consumes them", async () => {
        const lease = await held();
        const first = await journal.send("r1", { type: "approve", step: "a", pick: 2 }, 5);
        const second = await journal.send("r1", { type: "stop" }, 6);
        expect(await journal.inbox("r1")).toEqual([
          { id: first, at: 5, message: { type: "approve", step: "a", pick: 2 } },
          { id: second, at: 6, message: { type: "stop" } },
        ]);
        await commit(lease, 2, [], { inbox: [first] });
        expect((await journal.inbox("r1")).map((entry) => entry.id)).toEqual([second]);
      });

      test("of one run is not emptied by another run's commit", async () => {
        await held("r1");
        const lease = await held("r2");
        const entry = await journal.send("r1", { type: "stop" }, 5);
        await commit(lease, 2, [], { inbox: [entry] });
        expect(await journal.inbox("r1")).toHaveLength(1);
      });

      test("with an entry that the parking commit did not see refuses the park, and nothing is written", async () => {
        const lease = await held();
        const seen = await journal.send("r1", { type: "stop" }, 5);
        await journal.send("r1", { type: "reject", step: "a" }, 6);
        const parked = await commit(lease, 2, [started("a")], { inbox: [seen], park: true });
        expect(parked).toEqual({ committed: false, reason: "inbox" });
        expect(await journal.read("r1")).toHaveLength(2);
        expect(await journal.inbox("r1")).toHaveLength(2);
        expect(await commit(lease, 2, [started("a")], { inbox: [seen] })).toMatchObject({ committed: true });
      });

      test("that is empty lets the run park, which frees the lease in the same commit", async () => {
        const lease = await held();
        const seen = await journal.send("r1", { type: "stop" }, 5);
        const parked = await commit(lease, 2, [started("a")], {
          inbox: [seen],
          park: true,
          status: "paused",
        } as Partial<Commit>);
        expect(parked).toEqual({ committed: true, lastSeq: 3, tail: 3, lease: null, committedMicros: [] });
        expect(await take("r1", "b")).toMatchObject({ epoch: 2 });
      });
    });

    describe("a webhook's delivery", () => {
      const deliver = (id: string, jobId = "j1", of = account) => journal.deliver({ account: of, id, jobId, at: 300 });
      const job = (jobId: string, step = "a") => submitted(step, jobId);
      const messages = async (runId: string) => (await journal.inbox(runId)).map(({ message }) => message);
      const hint = { type: "hint", step: "a", attempt: 1 } as const;

      test("reaches the run that knows the job, once, and makes it due where an engine drives it", async () => {
        const lease = await held();
        const { lastSeq } = (await journal.run("r1"))!;
        const wake = { at: 9_000, memo: null };
        await commit(lease, lastSeq, [job("j1"), job("j2", "b")], { park: true, wake });
        expect(await deliver("d1")).toEqual({ outcome: "delivered", runIds: ["r1"] });
        expect(await deliver("d1")).toEqual({ outcome: "repeated", runIds: [] });
        expect(await deliver("d1", "j1", "another")).toEqual({ outcome: "early", runIds: [] });
        expect(await messages("r1")).toEqual([hint]);
        expect(await journal.run("r1")).toMatchObject({ wakeAt: 300 });
      });

      test("that is early waits for the commit that brings its job, also one that a person adopts", async () => {
        expect(await deliver("d1")).toEqual({ outcome: "early", runIds: [] });
        expect(await deliver("d1")).toEqual({ outcome: "early", runIds: [] });
        await deliver("d2", "j9");
        const lease = await held();
        await commit(lease, 2, [job("j1")]);
        expect(await messages("r1")).toEqual([hint]);
        expect(await deliver("d1")).toEqual({ outcome: "repeated", runIds: [] });
        await commit(lease, 3, [{ type: "job.adopted", step: "b", attempt: 1, jobId: "j9" }]);
        expect(await messages("r1")).toEqual([hint, { ...hint, step: "b" }]);
      });

      test("is forgotten after a day, and so is the job with its run", async () => {
        await deliver("d1");
        await journal.deliver({ account, id: "d2", jobId: "j2", at: 86_400_301 });
        const lease = await held();
        await commit(lease, 2, [job("j1")]);
        expect(await messages("r1")).toEqual([]);
        await journal.releaseLease(lease);
        await journal.removeRun("r1", 10_000);
        expect(await deliver("d3")).toEqual({ outcome: "early", runIds: [] });
      });

      test("of an id that no index takes is refused before it comes here", () => {
        const fits = (jobId: string) => isDeliverable({ id: "d", jobId });
        expect([fits("j1"), fits("j".repeat(501)), fits("j\0")]).toEqual([true, false, false]);
        expect(jobsOf([job("j".repeat(501)), job("j1")])).toEqual([{ step: "a", attempt: 1, jobId: "j1" }]);
      });
    });

    describe("a run that an engine drives", () => {
      const due = (at: number, limit = 10) => journal.dueRuns({ account, at, limit });
      const park = async (lease: Lease, at: number | null) => {
        const { lastSeq } = (await journal.run(lease.runId))!;
        return commit(lease, lastSeq, [], { park: true, wake: { at, memo: { polls: [1, 2] } } });
      };

      test("is due from the instant that it was created or parked with, the longest overdue first", async () => {
        await journal.createRun("late", planned(), 10, { at: 300, memo: null });
        await journal.createRun("early", planned(), 10, { at: 100, memo: null });
        await journal.createRun("other", planned(), 10);
        expect(await journal.run("early")).toMatchObject({ wakeAt: 100 });
        expect(await journal.run("other")).toMatchObject({ wakeAt: null });
        expect(await due(99)).toEqual([]);
        expect(await due(300)).toEqual(["early", "late"]);
        expect(await due(300, 1)).toEqual(["early"]);
        expect(await journal.dueRuns({ account: "another", at: 300, limit: 1 })).toEqual([]);
        await park(await take("early"), 500);
        expect(await due(499)).toEqual(["late"]);
        expect(await due(500)).toEqual(["late", "early"]);
      });

      test("hands its memo to the next holder of the lease, once", async () => {
        await park(await held(), 500);
        const taking = { at: 300, ttlMs: 10, isDead: nobodyIsDead };
        expect(await journal.takeLease("r1", holder("b"), taking)).toMatchObject({ memo: { polls: [1, 2] } });
        expect(await journal.takeLease("r1", holder("c"), { ...taking, at: 400 })).toMatchObject({ memo: null });
        expect(await due(500)).toEqual(["r1"]);
      });

      test("tells the next holder whether it was parked and is looked at on time", async () => {
        const takeAt = async (at: number) => {
          const lease = await take("r1", "b", at, 10);
          const { event } = (await journal.read("r1")).at(-1)!;
          return { lease, parked: event.type === "lease.acquired" && event.parked === true };
        };
        await park(await held(), 500);
        const onTime = await takeAt(900);
        expect(onTime.parked).toBe(true);
        await park(onTime.lease, 1_000);
        const late = await takeAt(1_000 + ON_TIME_MS + 1);
        expect(late.parked).toBe(false);
        await park(late.lease, null);
        const rested = await takeAt(30_000);
        expect(rested.parked).toBe(false);
        await park(rested.lease, 30_100);
        expect((await takeAt(30_200)).parked).toBe(true);
        // That slice died.
        expect((await takeAt(30_300)).parked).toBe(false);
      });

      test("is due with a message at once, whether it waits for an instant or rests", async () => {
        await park(await held("waits"), 500);
        await park(await held("rests"), null);
        await journal.createRun("other", planned(), 10);
        expect(await due(10_000)).toEqual(["waits"]);
        for (const run of ["waits", "rests", "other"]) await journal.send(run, { type: "stop" }, 300);
        expect(await due(300)).toEqual(["waits", "rests"]);
        await journal.send("waits", { type: "stop" }, 400);
        expect(await journal.run("waits")).toMatchObject({ wakeAt: 300 });
      });

      test("waits for a message only, once somebody who is no engine parks it", async () => {
        await park(await held(), 500);
        const lease = await take("r1", "b");
        await commit(lease, 3, [], { park: true });
        expect(await due(10_000)).toEqual([]);
        expect(await journal.run("r1")).toMatchObject({ wakeAt: null });
        await journal.send("r1", { type: "stop" }, 300);
        expect(await due(300)).toEqual(["r1"]);
      });

      test("stays due as it was when its park is refused for a message, and is forgotten with the run", async () => {
        await journal.createRun("r1", planned(), 10, { at: 100, memo: null });
        const lease = await take("r1");
        await journal.send("r1", { type: "stop" }, 150);
        expect(await park(lease, 500)).toEqual({ committed: false, reason: "inbox" });
        expect(await due(100)).toEqual(["r1"]);
        await journal.releaseLease(lease);
        await journal.removeRun("r1", 200);
        expect(await due(10_000)).toEqual([]);
        await journal.createRun("r1", planned(), 10);
        expect(await due(10_000)).toEqual([]);
      });
    });

    describe("the ledger", () => {
      test("settles holds, and drops released ones", async () => {
        const lease = await held();
        await commit(lease, 2, [], { ledger: [hold("a", 70), hold("b", 30), hold("c", 5)] });
        expect(await journal.ledger("r1")).toEqual(money(105, 0));
        await commit(lease, 2, [], { ledger: [settle("a", 60), release("b")] });
        expect(await journal.ledger("r1")).toEqual(money(5, 60));
      });

      test("counts each attempt of a step once, also within one commit and when repeated", async () => {
        const lease = await held();
        await commit(lease, 2, [], { ledger: [hold("a", 70), { ...hold("a", 20), attempt: 2 }, hold("a", 50)] });
        expect(await journal.ledger("r1")).toEqual(money(70, 0));
        await commit(lease, 2, [], { ledger: [settle("a", 50), settle("a", 0), release("a")] });
        expect(await journal.ledger("r1")).toEqual(money(20, 0));
      });

      test("of an account sums its runs and no other account's", async () => {
        const first = await held("r1");
        const second = await held("r2");
        await journal.createRun("r3", planned("key_2"), 10);
        const third = await take("r3");
        await commit(first, 2, [], { ledger: [hold("a", 70), settle("b", 3)] });
        await commit(second, 2, [], { ledger: [hold("a", 11)] });
        await commit(third, 2, [], { ledger: [hold("a", 1_000)] });
        expect(await journal.accountLedger(account)).toEqual({ heldMicros: 81, settledMicros: 3, mark: 1 });
        expect(await journal.accountLedger("nobody")).toEqual({ heldMicros: 0, settledMicros: 0, mark: 0 });
      });

      test("refuses holds beyond the account's cap, over all its runs, and writes nothing then", async () => {
        const first = await held("r1");
        const second = await held("r2");
        await journal.createRun("r3", planned("key_2"), 10);
        const cap = { tag: null, sinceAt: null, capMicros: 100 };
        const guard = { caps: [cap], wallet: null };
        await commit(first, 2, [], { ledger: [hold("a", 40), settle("b", 30)], guard });
        await commit(await take("r3"), 2, [], { ledger: [hold("a", 1_000)] });
        const over = await commit(second, 2, [started("a")], { ledger: [hold("a", 20), hold("b", 11)], guard });
        expect(over).toEqual({ committed: false, reason: "cap", cap, headroomMicros: 30, committedMicros: 70 });
        expect(await journal.read("r2")).toHaveLength(2);
        expect(await journal.ledger("r2")).toEqual(money(0, 0));
        const exact = await commit(second, 2, [started("a")], { ledger: [hold("a", 30)], guard });
        expect(exact).toMatchObject({ committed: true, committedMicros: [100] });
        const tighter = { caps: [{ ...cap, capMicros: 0 }], wallet: null };
        const noHold = await commit(first, 2, [], { ledger: [settle("a", 70)], guard: tighter });
        expect(noHold).toMatchObject({ committed: true, committedMicros: [] });
        const none = await commit(first, 2, [], { ledger: [hold("c", 1)], guard: tighter });
        expect(none).toMatchObject({ reason: "cap", headroomMicros: 0, committedMicros: 130 });
      });

      test("refuses holds beyond the wallet, however its balance was read between charges [G26]", async () => {
        const first = await held("r1");
        const second = await held("r2");
        const read = async (balanceMicros: number) => {
          const { mark } = await journal.accountLedger(account);
          return { caps: [], wallet: { balanceMicros, mark, floorMicros: 10 } };
        };
        const empty = await read(100);
        await commit(first, 2, [], { ledger: [hold("a", 40), hold("b", 20)], guard: empty });
        const over = await commit(second, 2, [started("a")], { ledger: [hold("a", 31)], guard: empty });
        expect(over).toEqual({ committed: false, reason: "floor", headroomMicros: 30, unseenMicros: 60 });
        expect(await journal.read("r2")).toHaveLength(2);

        // Acknowledged, settled or released since the balance was asked for: what is spent still counts, once.
        await commit(first, 2, [], { ledger: [charged("a"), release("b")] });
        await commit(first, 2, [], { ledger: [settle("a", 35)] });
        const later = await commit(second, 2, [], { ledger: [hold("a", 56)], guard: empty });
        expect(later).toEqual({ committed: false, reason: "floor", headroomMicros: 55, unseenMicros: 35 });

        // A balance asked for afterwards shows it.
        const full = await read(65);
        expect(await commit(second, 2, [], { ledger: [hold("a", 56)], guard: full })).toEqual({
          ...{ committed: false, reason: "floor", headroomMicros: 55, unseenMicros: 0 },
        });
        expect(await commit(second, 2, [], { ledger: [hold("a", 55)], guard: full })).toMatchObject({
          committed: true,
        });
        expect(await commit(first, 2, [], { ledger: [hold("c", 1)], guard: full })).toMatchObject({
          ...{ reason: "floor", headroomMicros: 0, unseenMicros: 55 },
        });
      });

      const DAY = 24 * 3_600_000;
      const tagged = async (runId: string, tags: { readonly [key: string]: string }) => {
        await journal.createRun(runId, { ...planned(), tags }, 10);
        return take(runId, "a", 100, 9 * DAY);
      };
      const today = (sinceAt: number, capMicros: number, tag: string | null = null) => ({ tag, sinceAt, capMicros });

      test("counts for a day what was held on it, whenever it is charged, and refuses holds beyond that day's cap [G24]", async () => {
        const [first, second] = [await held("r1"), await held("r2")];
        await commit(first, 2, [], { ledger: [hold("a", 40)], at: DAY - 1 });
        const cap = today(DAY, 100);
        const guard = { caps: [cap], wallet: null };
        await commit(second, 2, [], { ledger: [hold("a", 90), settle("b", 5)], at: DAY, guard });
        // Charged after midnight for a hold of before: the earlier day's.
        await commit(first, 2, [], { ledger: [settle("a", 45)], at: DAY + 1 });
        expect(await journal.spending(account, cap)).toEqual(money(90, 5));
        expect(await journal.spending(account, today(0, 0))).toEqual(money(90, 50));
        const over = await commit(first, 2, [started("a")], { ledger: [hold("b", 6)], at: DAY + 2, guard });
        expect(over).toEqual({ committed: false, reason: "cap", cap, headroomMicros: 5, committedMicros: 95 });
        expect(await journal.read("r1")).toHaveLength(2);
        // A bill below the hold, and a hold that is released, make room on the day of the hold.
        await commit(second, 2, [], { ledger: [settle("a", 80)], at: 2 * DAY });
        expect(await commit(first, 2, [], { ledger: [hold("b", 15)], at: DAY + 3, guard })).toMatchObject({
          committed: true,
        });
        await commit(first, 2, [], { ledger: [release("b")], at: DAY + 4 });
        expect(await journal.spending(account, cap)).toEqual(money(0, 85));
        const tomorrow = { caps: [today(2 * DAY, 100)], wallet: null };
        expect(await commit(first, 2, [], { ledger: [hold("c", 100)], at: 2 * DAY, guard: tomorrow })).toMatchObject({
          committed: true,
        });
        // A hold made again belongs to the day of the last one.
        await commit(first, 2, [], { ledger: [hold("c", 7)], at: 3 * DAY });
        expect(await journal.spending(account, today(3 * DAY, 0))).toEqual(money(7, 0));
      });

      test("holds all caps of a guard, each over the runs of its tag", async () => {
        const [video, audio] = [
          await tagged("r1", { team: "video", user: "a" }),
          await tagged("r2", { team: "audio" }),
        ];
        const perTag = (tag: string) => ({ tag, sinceAt: null, capMicros: 50 });
        const all = { tag: null, sinceAt: 0, capMicros: 80 };
        const guard = { caps: [perTag("team=video"), all], wallet: null };
        await commit(audio, 2, [], {
          ledger: [hold("a", 45)],
          guard: { caps: [perTag("team=audio"), all], wallet: null },
        });
        expect(await commit(video, 2, [], { ledger: [hold("a", 51)], guard })).toEqual({
          ...{ committed: false, reason: "cap", cap: perTag("team=video"), headroomMicros: 50, committedMicros: 0 },
        });
        expect(await commit(video, 2, [], { ledger: [hold("a", 36)], guard })).toEqual({
          ...{ committed: false, reason: "cap", cap: all, headroomMicros: 35, committedMicros: 45 },
        });
        expect(await commit(video, 2, [], { ledger: [hold("a", 35)], guard })).toMatchObject({
          ...{ committed: true, committedMicros: [35, 80] },
        });
        expect(await journal.spending(account, perTag("user=a"))).toEqual(money(35, 0));
        expect(await journal.spending(account, perTag("team=nobody"))).toEqual(money(0, 0));
        expect(await journal.spending(account, { tag: null, sinceAt: null })).toEqual(money(80, 0));
      });

      test("still counts what a removed run spent for its day and its tags, and moves it with its run's account", async () => {
        const [gone, moves] = [await tagged("r1", { team: "video" }), await tagged("r2", { team: "video" })];
        await commit(gone, 2, [], { ledger: [settle("a", 40)], park: true });
        await commit(moves, 2, [], { ledger: [hold("a", 7), settle("b", 3)] });
        await journal.removeRun("r1", 300);
        const scopes = [
          { tag: "team=video", sinceAt: null },
          { tag: null, sinceAt: 0 },
        ];
        for (const scope of scopes) {
          expect(await journal.spending(account, scope)).toEqual(money(7, 43));
        }
        expect(await journal.spending(account, { tag: null, sinceAt: null })).toEqual(money(7, 3));
        await commit(moves, 2, [moved]);
        for (const scope of scopes) {
          expect(await journal.spending(account, scope)).toEqual(money(0, 40));
          expect(await journal.spending(accountOf(moved), scope)).toEqual(money(7, 3));
        }
      });

      test("raises the account's mark with each commit that brings a charge, and with no other", async () => {
        const first = await held("r1");
        const second = await held("r2");
        const mark = async () => (await journal.accountLedger(account)).mark;
        const marks = [await mark()];
        for (const ledger of [[hold("a", 5), hold("b", 5)], [charged("a"), charged("b")], [settle("a", 5)], []]) {
          await commit(first, 2, [], { ledger });
          marks.push(await mark());
        }
        await commit(second, 2, [], { ledger: [hold("a", 5), settle("a", 5)] });
        await commit(second, 2, [], { ledger: [hold("b", 5)] });
        await commit(second, 2, [], { ledger: [release("b")] });
        marks.push(await mark());
        expect(marks).toEqual([0, 0, 1, 2, 2, 3]);
      });
    });

    test("money and results of a run move to another account with it, and its balance shows what was charged before", async () => {
      const [mine, other] = [await held("r1"), await held("r2")];
      const results = [{ step: "a", fingerprint: "f1", model: "m" }];
      await commit(mine, 2, [], { ledger: [hold("a", 40), hold("b", 20)], results });
      await commit(mine, 2, [], { ledger: [settle("a", 30)] });
      await commit(other, 2, [], { ledger: [hold("a", 7)] });
      await commit(mine, 2, [moved]);
      const there = accountOf(moved);
      expect(await journal.accountLedger(account)).toMatchObject(money(7, 0));
      expect(await journal.accountLedger(there)).toEqual({ heldMicros: 20, settledMicros: 30, mark: 0 });
      expect(await journal.results({ account, fingerprint: "f1" })).toEqual([]);
      expect(await journal.results({ account: there, fingerprint: "f1" })).toMatchObject([
        { runId: "r1", account: there },
      ]);
      // What is held and not known to be charged is not in the balance; what was settled is.
      const guard = { caps: [], wallet: { balanceMicros: 100, mark: 0, floorMicros: 0 } };
      const over = await commit(mine, 3, [], { ledger: [hold("c", 81)], guard });
      expect(over).toEqual({ committed: false, reason: "floor", headroomMicros: 80, unseenMicros: 20 });
    });

    describe("cached results", () => {
      const results = (step: string, fingerprint: string, model: string | null = "m") => ({ step, fingerprint, model });

      test("are found by request, by model and by run, newest first", async () => {
        const first = await held("r1");
        const second = await held("r2");
        await commit(first, 2, [], { results: [results("a", "f1"), results("b", "f2", null)] });
        await commit(second, 2, [], { results: [results("x", "f1", "other")], at: 201 });
        const f1 = [
          { runId: "r2", account, step: "x", fingerprint: "f1", model: "other", at: 201 },
          { runId: "r1", account, step: "a", fingerprint: "f1", model: "m", at: 200 },
        ];
        expect(await journal.results({ account, fingerprint: "f1" })).toEqual(f1);
        expect(await journal.results({ account, fingerprint: "f1" }, 1)).toEqual(f1.slice(0, 1));
        expect(await journal.results({ account, fingerprint: "f2" })).toMatchObject([{ step: "b", model: null }]);
        expect(await journal.results({ account, model: "m" })).toEqual(f1.slice(1));
        expect(await journal.results({ runId: "r1" })).toMatchObject([{ step: "a" }, { step: "b" }]);
      });

      test("say how long they took, where that is known", async () => {
        const lease = await held();
        await commit(lease, 2, [], { results: [{ ...results("a", "f1"), tookMs: 61_500 }, results("b", "f2")] });
        const [a, b] = await journal.results({ account, model: "m" });
        expect(a?.tookMs).toBe(61_500);
        expect(b).not.toHaveProperty("tookMs");
      });

      test("belong to one account", async () => {
        const lease = await held();
        await commit(lease, 2, [], { results: [results("a", "f1")] });
        for (const query of [{ fingerprint: "f1" }, { model: "m" }]) {
          expect(await journal.results({ account: "another@place", ...query })).toEqual([]);
        }
      });

      test("of a rerun step replace the earlier one, and are removed with their run", async () => {
        const lease = await held();
        await commit(lease, 2, [], { results: [results("a", "f1")] });
        await commit(lease, 2, [], { results: [results("a", "f2")], park: true });
        expect(await journal.results({ account, fingerprint: "f2" })).toMatchObject([{ step: "a" }]);
        expect(await journal.results({ account, fingerprint: "f1" })).toEqual([]);
        await journal.removeRun("r1", 300);
        expect(await journal.results({ account, fingerprint: "f2" })).toEqual([]);
      });

      test("of local functions are found too, whatever else was recorded at the same moment", async () => {
        const [lease, other] = [await held("r1"), await held("r2")];
        await commit(lease, 2, [], { results: [results("a", "f1", null), results("b", "f2", null)] });
        await commit(other, 2, [], { results: [results("a", "f9", null)] });
        await commit(lease, 2, [], { results: [results("c", "f3", null), results("b", "f4", null)] });
        const ofRun = (await journal.results({ runId: "r1" })).map(({ step, fingerprint }) => [step, fingerprint]);
        expect(ofRun).toEqual([
          ["a", "f1"],
          ["b", "f4"],
          ["c", "f3"],
        ]);
        expect(await journal.results({ account, fingerprint: "f2" })).toEqual([]);
        expect(await journal.results({ account, fingerprint: "f9" })).toMatchObject([{ runId: "r2", step: "a" }]);
        await commit(lease, 2, [], { results: [results("c", "f5", null)], at: 205, park: true });
        expect(await journal.results({ account, fingerprint: "f5" })).toMatchObject([{ step: "c", at: 205 }]);
        await journal.removeRun("r1", 300);
        expect(await journal.results({ account, fingerprint: "f5" })).toEqual([]);
      });

      test("are looked up while others are recorded without end", async () => {
        const lease = await held();
        await commit(lease, 2, [], { results: [results("a", "f0", null)] });
        let [isFound, count] = [false, 0];
        const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
        const record = async () => {
          for (; !isFound; await nextTurn()) {
            await commit(lease, 2, [], { results: [results(`b${count}`, `g${count++}`, null)] });
          }
        };
        const recording = Promise.all([record(), record(), record()]);
        while (count < 20) await nextTurn();
        expect(await journal.results({ account, fingerprint: "f0" })).toMatchObject([{ step: "a" }]);
        isFound = true;
        await recording;
      });

      test("of a step that a job took over from a local function are those of the job", async () => {
        const lease = await held();
        await commit(lease, 2, [], { results: [results("a", "f1", null), results("b", "f2", null)] });
        await commit(lease, 2, [], { results: [{ ...results("a", "f3"), tookMs: 3 }], at: 201 });
        await commit(lease, 2, [], { results: [results("b", "f4")], at: 201 });
        await commit(lease, 2, [], { results: [results("b", "f5", null)], at: 202 });
        expect(await journal.results({ runId: "r1" })).toMatchObject([
          { step: "b", fingerprint: "f5", model: null },
          { step: "a", fingerprint: "f3", model: "m", tookMs: 3 },
        ]);
        expect(await journal.results({ account, fingerprint: "f5" })).toMatchObject([{ step: "b", at: 202 }]);
        expect(await journal.results({ account, model: "m" })).toMatchObject([{ step: "a" }]);
      });

      test("are not noted by a commit that is refused", async () => {
        const lease = await held();
        await commit({ ...lease, epoch: 7 }, 2, [], { results: [results("a", "f1")] });
        expect(await journal.results({ runId: "r1" })).toEqual([]);
      });
    });

    describe("notices", () => {
      const notice = (seq: number) => ({ seq, event: "run.failed", body: `{"seq":${seq}}` });
      const claim = (at: number, limit = 10) => journal.claimNotices({ at, untilAt: at + 60, limit });

      test("are in the outbox with the commit that brings them, and due at once", async () => {
        const lease = await held();
        await commit(lease, 2, [started("a"), started("b")], { notices: [notice(3), notice(4)] });
        const row = { runId: "r1", event: "run.failed", dueAt: 200, attempts: 0, lastError: null };
        expect(await journal.notices()).toEqual([
          { ...row, seq: 3, body: '{"seq":3}' },
          { ...row, seq: 4, body: '{"seq":4}' },
        ]);
      });

      test("of a commit that is refused are never told", async () => {
        const lease = await held();
        await commit({ ...lease, epoch: 7 }, 2, [started("a")], { notices: [notice(3)] });
        expect(await journal.notices()).toEqual([]);
      });

      test("are claimed by one at a time, and by the next when the claim ended", async () => {
        const lease = await held();
        await commit(lease, 2, [started("a"), started("b")], { notices: [notice(3), notice(4)] });
        expect(await claim(199)).toEqual([]);
        expect(await claim(200, 1)).toMatchObject([{ seq: 3, attempts: 1, dueAt: 260 }]);
        expect(await claim(201)).toMatchObject([{ seq: 4, attempts: 1, dueAt: 261 }]);
        expect(await claim(259)).toEqual([]);
        expect(await claim(260)).toMatchObject([{ seq: 3, attempts: 2 }]);
      });

      test("that were delivered are removed; others are due at their retry time, with the last error", async () => {
        const lease = await held();
        await commit(lease, 2, [started("a"), started("b")], { notices: [notice(3), notice(4)] });
        await claim(200);
        await journal.resolveNotice("r1", 3, { delivered: true });
        await journal.resolveNotice("r1", 4, { delivered: false, dueAt: 900, error: "answered 500" });
        await journal.resolveNotice("r1", 9, { delivered: true });
        await journal.resolveNotice("nope", 3, { delivered: true });
        expect(await journal.notices()).toMatchObject([{ seq: 4, dueAt: 900, attempts: 1, lastError: "answered 500" }]);
      });

      test("go with their run", async () => {
        const lease = await held();
        await commit(lease, 2, [started("a")], { notices: [notice(3)] });
        await journal.releaseLease(lease);
        await journal.removeRun("r1", 9_999);
        expect(await journal.notices()).toEqual([]);
      });
    });

    describe("review links", () => {
      const link: ReviewLinkRow = {
        id: "one",
        secretHash: "ab",
        scope: { tags: { client: "acme" }, runId: "r1", step: "pick" },
        createdAt: 1_000,
        expiresAt: 5_000,
        revokedAt: null,
        uses: 0,
        maxUses: 2,
      };

      test("are kept as they were made, and listed newest first", async () => {
        await journal.addReviewLink(link);
        await journal.addReviewLink({ ...link, id: "two", createdAt: 2_000 });
        expect(await journal.reviewLink("one")).toEqual(link);
        expect(await journal.reviewLink("three")).toBeNull();
        expect((await journal.reviewLinks()).map(({ id }) => id)).toEqual(["two", "one"]);
      });

      test("are used no more often than they may be, however many ask at once", async () => {
        await journal.addReviewLink(link);
        const used = await Promise.all(Array.from({ length: 9 }, () => journal.useReviewLink("one", 2_000)));
        expect(used.filter(Boolean)).toHaveLength(2);
        expect(await journal.reviewLink("one")).toMatchObject({ uses: 2 });
      });

      test("end with their time, and before it when they are revoked", async () => {
        await journal.addReviewLink(link);
        expect(await journal.useReviewLink("one", 5_000)).toBe(false);
        expect(await journal.useReviewLink("none", 2_000)).toBe(false);
        await journal.revokeReviewLink("one", 3_000);
        await journal.revokeReviewLink("one", 4_000);
        expect(await journal.useReviewLink("one", 2_000)).toBe(false);
        expect(await journal.reviewLink("one")).toEqual({ ...link, revokedAt: 3_000 });
      });

      test("are forgotten long after their end", async () => {
        await journal.addReviewLink(link);
        const later = link.expiresAt + LISTED_MS + 1;
        await journal.addReviewLink({ ...link, id: "two", createdAt: later, expiresAt: later + 1 });
        expect((await journal.reviewLinks()).map(({ id }) => id)).toEqual(["two"]);
      });
    });

    describe("quotes", () => {
      const quote = { id: "quote_1", account, basis: { maximumMicros: 5, open: ["a"] }, expiresAt: 5_000 };

      test("are kept as they were issued", async () => {
        await journal.issueQuote(quote, 1_000);
        expect(await journal.issuedQuote("quote_1")).toEqual({ ...quote, usedBy: null });
        expect(await journal.issuedQuote("quote_2")).toBeNull();
      });

      test("are used by one run, however many ask at once, and by that one again, also after their end", async () => {
        await journal.issueQuote(quote, 1_000);
        const runs = Array.from({ length: 9 }, (_, n) => `run-${n}`);
        const used = await Promise.all(runs.map((run) => journal.useQuote("quote_1", run, 2_000)));
        expect(used.filter(Boolean)).toHaveLength(1);
        const winner = runs[used.indexOf(true)]!;
        expect(await journal.issuedQuote("quote_1")).toEqual({ ...quote, usedBy: winner });
        expect(await journal.useQuote("quote_1", winner, 9_000)).toBe(true);
        expect(await journal.useQuote("quote_1", "another", 2_000)).toBe(false);
      });

      test("end with their time, and are forgotten long after it", async () => {
        await journal.issueQuote(quote, 1_000);
        expect(await journal.useQuote("quote_1", "run-1", 5_000)).toBe(false);
        expect(await journal.useQuote("quote_2", "run-1", 2_000)).toBe(false);
        const later = quote.expiresAt + REMEMBERED_MS + 1;
        await journal.issueQuote({ ...quote, id: "quote_2", expiresAt: later + 1 }, later);
        expect(await journal.issuedQuote("quote_1")).toBeNull();
      });
    });

    describe("side tables", () => {
      const row = { sha256: "ab", account, url: "https://files.example/x", contentType: "image/png", expiresAt: 2_000 };

      test("an upload handle is stored by content and account, and replaced by a newer one", async () => {
        await journal.putHandle(row);
        await journal.putHandle({ ...row, url: "https://files.example/y", expiresAt: 3_000 });
        expect(await journal.handle("ab", account)).toEqual({
          ...row,
          url: "https://files.example/y",
          expiresAt: 3_000,
        });
        expect(await journal.handle("ab", "other")).toBeNull();
        expect(await journal.handle("cd", account)).toBeNull();
      });

      test("expired upload handles are removed when the next one is stored", async () => {
        await journal.putHandle(row);
        now = 2_000;
        await journal.putHandle({ ...row, sha256: "cd", expiresAt: 9_000 });
        expect(await journal.handle("ab", account)).toBeNull();
        expect(await journal.handle("cd", account)).not.toBeNull();
      });

      test("expired upload handles can be counted and dropped, and no others", async () => {
        // Beyond any journal's own clock, which drops what has expired by itself when the next one is stored.
        const expiresAt = Date.UTC(2200, 0, 1);
        await journal.putHandle({ ...row, expiresAt });
        await journal.putHandle({ ...row, sha256: "cd", expiresAt: expiresAt + 7_000 });
        expect(await journal.dropHandles(expiresAt - 1)).toBe(0);
        expect(await journal.dropHandles(expiresAt, { dryRun: true })).toBe(1);
        expect(await journal.handle("ab", account)).not.toBeNull();
        expect(await journal.dropHandles(expiresAt)).toBe(1);
        expect(await journal.handle("ab", account)).toBeNull();
        expect(await journal.handle("cd", account)).not.toBeNull();
      });

      test("progress holds the last word on each step and is no event", async () => {
        await journal.createRun("r1", planned(), 10);
        await journal.setProgress("r1", { step: "b", fraction: 0.25, estimatedCompletionAt: 9 });
        await journal.setProgress("r1", { step: "a", fraction: null, estimatedCompletionAt: null });
        await journal.setProgress("r1", { step: "b", fraction: 0.5, estimatedCompletionAt: null });
        expect(await journal.progress("r1")).toEqual([
          { step: "a", fraction: null, estimatedCompletionAt: null },
          { step: "b", fraction: 0.5, estimatedCompletionAt: null },
        ]);
        expect(await journal.read("r1")).toHaveLength(1);
      });

      test("media in use are those that some run's events name", async () => {
        const lease = await held();
        const output = { attempt: 1, index: 0, sizeBytes: 1, contentType: "image/png" };
        await commit(lease, 2, [
          { type: "upload.stored", step: "a", sha256: "aa", sizeBytes: 1, contentType: "image/png" },
          { type: "output.downloaded", step: "b", sha256: "bb", ...output },
          { type: "output.downloaded", step: "c", sha256: "bb", ...output },
        ]);
        expect([...(await journal.mediaInUse())].sort()).toEqual(["aa", "bb"]);
      });

      test("so are files of tasks, what was reused from an earlier run, and uploads of expansions", async () => {
        const lease = await held();
        const copyOf = (sha256: string) => ({ sha256, sizeBytes: 1, contentType: ownText("image/png") });
        const facts = { index: 0, status: "COMPLETED", assetId: null, voiceId: null, error: null } as const;
        const size = { width: 1, height: 1, durationMs: null, fps: null };
        const results = { ...facts, ...size, ...copyOf("aa"), name: "sheet" };
        const taken = { ...facts, ...size, contentType: ownText("image/png"), copy: copyOf("bb") };
        const file = { path: "/x.png", ...copyOf("cc") };
        const upload = { kind: "upload", path: "e/u", needs: [], fingerprint: "f1_u", yields: "image", file } as const;
        await commit(lease, 2, [
          {
            type: "task.completed",
            step: "t",
            value: null,
            files: [results, { ...results, ...copyOf("dd"), index: 1 }],
          },
          {
            type: "step.reused",
            step: "r",
            from: { runId: "r0", step: "r", jobId: null, completedAt: 1 },
            outputs: [taken],
            value: null,
          },
          { type: "expand.planned", step: "e", steps: [upload], returns: [], groups: {} },
        ]);
        expect([...(await journal.mediaInUse())].sort()).toEqual(["aa", "bb", "cc", "dd"]);
        expect(await journal.mediaInUse(["r1", "nope"])).toEqual(new Set());
      });
    });

    describe("waiting", () => {
      test("for a change ends with the commit that brings it", async () => {
        const lease = await held();
        let ended = false;
        const waiting = journal.waitForChange("r1", 2).then(() => {
          ended = true;
        });
        await journal.run("r1");
        expect(ended).toBe(false);
        await commit(lease, 2, [started("a")]);
        await waiting;
        await journal.waitForChange("r1", 2);
      });

      test("ends with the signal's reason when it aborts, before or meanwhile", async () => {
        await held();
        const controller = new AbortController();
        const waiting = journal.waitForChange("r1", 2, controller.signal);
        const reason = new Error("enough");
        controller.abort(reason);
        await expect(waiting).rejects.toBe(reason);
        await expect(journal.waitForChange("r1", 2, controller.signal)).rejects.toBe(reason);
      });

      test("ends when the journal is closed, and closing again does nothing", async () => {
        await held();
        const waiting = expect(journal.waitForChange("r1", 2)).rejects.toMatchObject({ code: "JOURNAL_CLOSED" });
        await journal.run("r1");
        await journal.close();
        await waiting;
        await journal.close();
        await expect(journal.run("r1")).rejects.toMatchObject({ code: "JOURNAL_CLOSED" });
        await expect(journal.send("r1", { type: "stop" }, 1)).rejects.toMatchObject({ code: "JOURNAL_CLOSED" });
      });
    });

    describe("removing a run", () => {
      test("forgets all of it and nothing of another", async () => {
        const lease = await held("r1");
        const other = await held("r2");
        const stored = { type: "upload.stored", step: "a", sha256: "aa", sizeBytes: 1, contentType: "x" } as const;
        const ledger = [settle("a", 9)];
        await commit(lease, 2, [stored, submitted("a", "job_1")], { ledger, park: true });
        await commit(other, 2, [], { ledger });
        expect(await journal.removeRun("r1", 300)).toEqual({ removed: true });
        expect(await journal.run("r1")).toBeNull();
        expect(await journal.mediaInUse()).toEqual(new Set());
        expect(await journal.accountLedger(account)).toMatchObject(money(0, 9));
        expect(await journal.read("r2")).toHaveLength(2);
        await journal.createRun("r1", planned(), 400);
        expect(await journal.read("r1")).toHaveLength(1);
        expect(await journal.inbox("r1")).toEqual([]);
      });

      test("is refused while it is held, while money is reserved, and when there is none", async () => {
        const lease = await held();
        expect(await journal.removeRun("nope", 100)).toEqual({ removed: false, reason: "unknown" });
        expect(await journal.removeRun("r1", lease.expiresAt)).toEqual({ removed: false, reason: "leased" });
        await commit(lease, 2, [], { ledger: [hold("a", 1)], park: true });
        expect(await journal.removeRun("r1", 100)).toEqual({ removed: false, reason: "holds" });
      });
    });
  });
}
