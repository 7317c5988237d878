import fc from "fast-check";
import { expect, test } from "vitest";
import type { LedgerChange } from "../../../src/core/journal/events/spec.ts";
import { accountOf } from "../../../src/core/journal/record.ts";
import type { JournalStore, Lease, SpendingGuard, SpendingScope } from "../../../src/core/journal/store.ts";
import { createReferenceJournal } from "./reference-journal.ts";
import { baseUrl, holder, nobodyIsDead, planned } from "./samples.ts";

interface Write {
  readonly run: number;
  /** Quarter of an hour of the write. */
  readonly quarter: number;
  readonly changes: readonly LedgerChange[];
  /** The wallet's mark counts back from the account's current mark. */
  readonly guard: SpendingGuard | null;
  readonly moves: boolean;
}

const QUARTER_MS = 900_000;
const TAGS = ["client=acme", "client=other"];

const micros = fc.integer({ min: 0, max: 12 });
const of = { step: fc.constantFrom("a", "b"), attempt: fc.integer({ min: 1, max: 2 }) };
const change: fc.Arbitrary<LedgerChange> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ ...of, type: fc.constant("hold" as const), amountMicros: micros }) },
  fc.record({
    ...of,
    type: fc.constant("hold" as const),
    amountMicros: micros,
    isElsewhere: fc.constant(true as const),
  }),
  fc.record({ ...of, type: fc.constant("raise" as const), amountMicros: micros }),
  fc.record({ ...of, type: fc.constant("settle" as const), costMicros: micros }),
  fc.record({ ...of, type: fc.constantFrom("charged" as const, "release" as const) }),
);
const scope: fc.Arbitrary<SpendingScope> = fc.record({
  tag: fc.constantFrom(null, ...TAGS),
  sinceAt: fc.constantFrom(null, QUARTER_MS, 2 * QUARTER_MS + 1),
});
const guard: fc.Arbitrary<SpendingGuard> = fc.record({
  caps: fc.array(
    fc.tuple(scope, fc.integer({ min: 5, max: 40 })).map(([within, capMicros]) => ({ ...within, capMicros })),
    { maxLength: 3 },
  ),
  wallet: fc.option(fc.record({ balanceMicros: fc.integer({ min: 5, max: 60 }), mark: micros, floorMicros: micros })),
});
const write: fc.Arbitrary<Write> = fc.record({
  run: fc.integer({ min: 0, max: 1 }),
  quarter: fc.integer({ min: 0, max: 3 }),
  changes: fc.array(change, { minLength: 1, maxLength: 3 }),
  guard: fc.option(guard, { freq: 4 }),
  moves: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
});

/** Writes a ledger of two runs of one account, and returns all answers and the final sums. */
async function answersOf(store: JournalStore, name: string, writes: readonly Write[]): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  const leases: Lease[] = [];
  const seqs = [2, 2];
  const accounts = [name, name];
  const known = new Set<string>();
  for (const [index, client] of ["acme", "other"].entries()) {
    const runId = `${name}-${index}`;
    await store.createRun(runId, { ...planned(name), tags: { client } }, 10);
    const taken = await store.takeLease(runId, holder("x"), { at: 20, ttlMs: 10 ** 9, isDead: nobodyIsDead });
    if (taken.acquired) leases.push(taken.lease);
  }
  for (const { run, quarter, guard, moves, ...write } of writes) {
    const entries = new Set(known);
    const changes = write.changes.filter((change) => {
      const entry = `${run} ${change.step} ${change.attempt}`;
      if (change.type === "hold" || change.type === "settle") entries.add(entry);
      return entries.has(entry);
    });
    const { mark } = await store.accountLedger(accountOf({ baseUrl, keyId: accounts[run]! }));
    const wallet = guard?.wallet == null ? null : { ...guard.wallet, mark: Math.max(0, mark - guard.wallet.mark) };
    const keyId = `${name}-moved`;
    const moved = { type: "run.account.moved", baseUrl, keyId, jobId: null } as const;
    const outcome = await store.commit({
      lease: leases[run]!,
      afterSeq: seqs[run]!,
      at: quarter * QUARTER_MS + 30,
      events: moves ? [moved] : [],
      ledger: changes,
      status: "running",
      ...(guard !== null && { guard: { ...guard, wallet } }),
    });
    if (outcome.committed) {
      seqs[run] = outcome.lastSeq;
      for (const entry of entries) known.add(entry);
    }
    if (outcome.committed && moves) accounts[run] = keyId;
    answers.push(outcome.committed ? { committed: true, committedMicros: outcome.committedMicros } : outcome);
  }
  for (const keyId of [name, `${name}-moved`]) {
    const account = accountOf({ baseUrl, keyId });
    answers.push(await store.accountLedger(account));
    for (const tag of [null, ...TAGS])
      for (const sinceAt of [null, 2 * QUARTER_MS]) answers.push(await store.spending(account, { tag, sinceAt }));
  }
  answers.push(await store.ledger(`${name}-0`), await store.ledger(`${name}-1`));
  return answers;
}

const AT_ONCE = 50;

/** Compares a store with the decision in TypeScript: same refusals, same headroom, same sums after any writes. */
export function ledgersContract(name: string, open: () => Promise<JournalStore>, count: number): void {
  test(`${name} and the decision in TypeScript agree on every cap, floor and sum of any ledger`, async () => {
    const store = await open();
    let last = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(write, { minLength: 1, maxLength: 10 }), { minLength: 1, maxLength: AT_ONCE, size: "max" }),
        async (ledgers) => {
          const reference = createReferenceJournal();
          await Promise.all(
            ledgers.map(async (writes) => {
              last += 1;
              const name = `key_${last}`;
              const [wanted, got] = await Promise.all([
                answersOf(reference, name, writes),
                answersOf(store, name, writes),
              ]);
              expect(got).toEqual(wanted);
            }),
          );
          await reference.close();
        },
      ),
      { numRuns: Math.ceil((2 * count) / AT_ONCE) },
    );
    await store.close();
    expect(last).toBeGreaterThan(count / 2);
  });
}
