import fc from "fast-check";
import { expect, test } from "vitest";
import type { RunEvent } from "../../../src/core/journal/events.ts";
import type { JournalStore, Lease } from "../../../src/core/journal/store.ts";
import { openAt } from "./open-at.ts";
import { createReferenceJournal } from "./reference-journal.ts";
import { holder, planned, submitted } from "./samples.ts";

/** The next action of a holder. `behind` makes its view of the last event outdated. */
type Move =
  | { readonly do: "take"; readonly who: number; readonly later: number; readonly othersAreDead: boolean }
  | {
      readonly do: "commit";
      readonly who: number;
      readonly count: number;
      readonly behind: number;
      readonly park: boolean;
      readonly wakes: boolean;
    }
  | { readonly do: "release" | "renew"; readonly who: number }
  | { readonly do: "send" };

const who = fc.integer({ min: 0, max: 1 });
const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({
    do: fc.constant("take" as const),
    who,
    later: fc.integer({ min: 0, max: 150 }),
    othersAreDead: fc.boolean(),
  }),
  fc.record({
    do: fc.constant("commit" as const),
    who,
    count: fc.integer({ min: 0, max: 3 }),
    behind: fc.constantFrom(0, 0, 0, 1, -1),
    park: fc.boolean(),
    wakes: fc.boolean(),
  }),
  fc.record({ do: fc.constantFrom("release" as const, "renew" as const), who }),
  fc.record({ do: fc.constant("send" as const) }),
);

/** Two holders, each with its supposed lease; both may suppose that they hold the lease at the same time. */
class Holders {
  readonly #journals: readonly JournalStore[];
  readonly #leases: (Lease | null)[] = [null, null];
  #now = 100;
  #jobs = 0;

  constructor(journals: readonly JournalStore[]) {
    this.#journals = journals;
  }

  async make(move: Move): Promise<unknown> {
    const journal = this.#journals["who" in move ? move.who : 0];
    if (journal === undefined) throw new Error("no such holder");
    switch (move.do) {
      case "take":
        return this.#take(journal, move);
      case "commit":
        return this.#commit(journal, move);
      case "release":
        return this.#withLease(move.who, (lease) => journal.releaseLease(lease));
      case "renew":
        return this.#withLease(move.who, (lease) => journal.renewLease(lease, { at: this.#now, ttlMs: 100 }));
      case "send":
        return journal.send("r1", { type: "stop" }, this.#now);
      default:
        return move satisfies never;
    }
  }

  async #take(journal: JournalStore, move: Move & { readonly do: "take" }) {
    this.#now += move.later;
    const isDead = () => move.othersAreDead;
    const outcome = await journal.takeLease("r1", holder(`${move.who}`), { at: this.#now, ttlMs: 100, isDead });
    if (outcome.acquired) this.#leases[move.who] = outcome.lease;
    return outcome;
  }

  async #commit(journal: JournalStore, move: Move & { readonly do: "commit" }) {
    return this.#withLease(move.who, async (lease) => {
      const afterSeq = ((await journal.run("r1"))?.lastSeq ?? 0) + move.behind;
      const inbox = (await journal.inbox("r1")).slice(0, 2).map((entry) => entry.id);
      const events = Array.from({ length: move.count }, () => submitted(`epoch-${lease.epoch}`, `job_${this.#jobs++}`));
      const ledger = events.map(
        (_, attempt) => ({ type: "hold", step: "a", attempt, amountMicros: lease.epoch }) as const,
      );
      const wake = { at: this.#now + 100, memo: afterSeq };
      const parks = { park: move.park, ...(move.park && move.wakes && { wake }) };
      const guard = { caps: [{ tag: null, sinceAt: this.#now, capMicros: 9 }], wallet: null };
      const extras = { ledger, inbox, ...parks, status: "running", guard };
      return journal.commit({ lease, afterSeq, at: this.#now, events, ...extras });
    });
  }

  async #withLease<T>(index: number, use: (lease: Lease) => Promise<T>): Promise<T | null> {
    const lease = this.#leases[index];
    return lease == null ? null : use(lease);
  }
}

/** Checks that event numbers have no gaps or repeats, epochs only increase, and each event has the current epoch. */
async function expectInOrder(journal: JournalStore): Promise<void> {
  let epoch = 0;
  const events = await journal.read("r1");
  for (const [index, { seq, event }] of events.entries()) {
    expect(seq).toBe(index + 1);
    if (event.type === "lease.acquired") expect(event.epoch).toBe(++epoch);
    else if (event.type !== "run.planned") expect(stepOf(event)).toBe(`epoch-${epoch}`);
  }
}

function stepOf(event: RunEvent): string {
  return "step" in event ? event.step : event.type;
}

/** Tests all interleavings of two holders. `place` returns the location of a new journal for each. */
export function interleavingsContract(name: string, place: () => string, numRuns: number): void {
  test(`Whatever two holders try in whatever order, ${name} and the reference answer alike and keep the events in order [G34]`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(move, { maxLength: 25 }), async (moves) => {
        const stores = [createReferenceJournal(), await openAt(place())] as const;
        const answers: unknown[][] = [];
        for (const store of stores) {
          await store.createRun("r1", planned(), 10);
          const holders = new Holders([store, store]);
          const own: unknown[] = [];
          for (const next of moves) own.push(await holders.make(next));
          own.push(await store.read("r1"), await store.inbox("r1"), await store.ledger("r1"), await store.run("r1"));
          answers.push(own);
          await expectInOrder(store);
          await store.close();
        }
        expect(answers[1]).toEqual(answers[0]);
      }),
      { numRuns },
    );
  });

  test(`Two holders on ${name} connections of their own, making moves at the same time, keep the events in order`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(move, { minLength: 1, maxLength: 6 }), { maxLength: 8 }), async (bursts) => {
        const path = place();
        const journals = await Promise.all([openAt(path), openAt(path)]);
        await journals[0].createRun("r1", planned(), 10);
        const holders = new Holders(journals);
        for (const burst of bursts) await Promise.all(burst.map((next) => holders.make(next)));
        await expectInOrder(journals[0]);
        expect(await journals[1].read("r1")).toEqual(await journals[0].read("r1"));
        expect((await journals[1].ledger("r1")).heldMicros).toBeLessThanOrEqual(9);
        await Promise.all(journals.map((journal) => journal.close()));
      }),
      { numRuns },
    );
  });
}
