import fc from "fast-check";
import { expect, test } from "vitest";
import type { RunEvent } from "../../../src/core/journal/events.ts";
import { accountOf } from "../../../src/core/journal/record.ts";
import type { Commit, JournalStore, Lease } from "../../../src/core/journal/store.ts";
import { createReferenceJournal } from "./reference-journal.ts";
import { baseUrl, holder, planned, submitted } from "./samples.ts";

/** One call of a store. `at` is the time of the call, which never goes back. */
type Operation = (world: World, at: number) => unknown;

interface Call {
  readonly name: string;
  readonly perform: Operation;
}

const call = (name: string, perform: Operation): Call => ({ name, perform });

interface World {
  readonly store: JournalStore;
  readonly leases: Map<string, Lease>;
}

const KEYS = ["key_1", "key_2"];
const account = fc.constantFrom(...KEYS).map((keyId) => accountOf({ baseUrl, keyId }));
const run = fc.constantFrom("r1", "r2", "r3");
const step = fc.constantFrom("a", "b");
const job = fc.constantFrom("job_1", "job_2", "job_3");
const small = fc.integer({ min: 0, max: 3 });
const later = fc.integer({ min: -40, max: 80 });
const sha256 = fc.constantFrom("aa", "bb");
const tags = fc.constantFrom(undefined, { client: "acme" }, { client: "acme", "team=1": "x" });

const event: fc.Arbitrary<RunEvent> = fc.oneof(
  fc.constantFrom(submitted("a", "job_1"), submitted("a", "job_2"), submitted("b", "job_3")),
  fc.record({
    type: fc.constant("upload.stored" as const),
    step,
    sha256,
    sizeBytes: small,
    contentType: fc.constant("image/png"),
  }),
  step.map((of) => ({ type: "step.started", step: of }) as const),
);

const write = fc.record({
  events: fc.array(event, { maxLength: 2 }),
  behind: fc.constantFrom(0, 0, 0, 0, -1),
  reads: fc.boolean(),
  park: fc.option(fc.record({ at: fc.option(later), memo: small })),
  results: fc.subarray([
    { step: "a", fingerprint: "f1", model: "m", tookMs: 3 },
    // How long a local function took is not stored.
    { step: "b", fingerprint: "f1", model: null },
  ]),
  notices: fc.boolean(),
  moves: fc.constantFrom(false, false, false, true),
  snapshot: fc.boolean(),
  status: fc.constantFrom("running", "paused", "succeeded"),
  resumeAt: fc.option(later),
});

type Write = typeof write extends fc.Arbitrary<infer W> ? W : never;

async function commit({ store, leases }: World, runId: string, of: Write, at: number) {
  const lease = leases.get(runId);
  if (lease === undefined) return "no lease";
  const row = await store.run(runId);
  if (row === null) return "no run";
  const moved = { type: "run.account.moved", baseUrl, keyId: KEYS[1]!, jobId: null } as const;
  const events: readonly RunEvent[] = of.moves ? [moved] : of.events;
  const afterSeq = row.lastSeq + of.behind;
  const lastSeq = afterSeq + events.length;
  const wake = of.park === null ? undefined : { at: of.park.at === null ? null : at + of.park.at, memo: of.park.memo };
  const commit: Commit & { readonly status: string } = {
    ...{ lease, afterSeq, at, events, status: of.status, results: of.results },
    ...{ inbox: of.reads ? (await store.inbox(runId)).map(({ id }) => id) : [] },
    ...(of.notices && events.length > 0 && { notices: [{ seq: lastSeq, event: "run.failed", body: "{}" }] }),
    ...(of.snapshot && { snapshot: { foldVersion: 1, seq: lastSeq, state: `{"at":${at}}` } }),
    ...(of.resumeAt !== null && { resumeAt: at + of.resumeAt }),
    ...(wake !== undefined && { park: true, wake }),
  };
  return store.commit(commit);
}

const operation: fc.Arbitrary<Call> = fc.oneof(
  fc
    .tuple(run, fc.constantFrom(...KEYS), tags, fc.option(later))
    .map(([id, key, tags, wakeAt]) =>
      call(`create ${id}`, ({ store }, at) =>
        store.createRun(
          id,
          { ...planned(key), title: `The film ${id}`, ...(tags && { tags }) },
          at,
          wakeAt === null ? undefined : { at: at + wakeAt, memo: null },
        ),
      ),
    ),
  fc.tuple(run, fc.boolean()).map(([id, dead]) =>
    call(`take ${id}`, async ({ store, leases }, at) => {
      const taken = await store.takeLease(id, holder("x"), { at, ttlMs: 50, isDead: () => dead });
      if (taken.acquired) leases.set(id, taken.lease);
      return taken;
    }),
  ),
  {
    weight: 4,
    arbitrary: fc
      .tuple(run, write)
      .map(([id, of]) => call(`commit ${id} ${JSON.stringify(of)}`, (world, at) => commit(world, id, of, at))),
  },
  run.map((id) =>
    call(
      `renew ${id}`,
      ({ store, leases }, at) => leases.has(id) && store.renewLease(leases.get(id)!, { at, ttlMs: 50 }),
    ),
  ),
  run.map((id) => call(`release ${id}`, ({ store, leases }) => leases.has(id) && store.releaseLease(leases.get(id)!))),
  run.map((id) => call(`send ${id}`, ({ store }, at) => store.send(id, { type: "stop" }, at))),
  fc
    .tuple(account, fc.constantFrom("w1", "w2"), job)
    .map(([account, id, jobId]) =>
      call(`deliver ${id} ${jobId}`, ({ store }, at) => store.deliver({ account, id, jobId, at })),
    ),
  fc
    .tuple(account, fc.integer({ min: 1, max: 3 }))
    .map(([account, limit]) => call("due", ({ store }, at) => store.dueRuns({ account, at, limit }))),
  fc
    .tuple(later, small)
    .map(([until, limit]) =>
      call("claim", ({ store }, at) => store.claimNotices({ at, untilAt: at + until, limit: limit + 1 })),
    ),
  fc
    .tuple(run, fc.integer({ min: 2, max: 6 }), fc.boolean(), later)
    .map(([id, seq, delivered, due]) =>
      call(`resolve ${id} ${seq}`, ({ store }, at) =>
        store.resolveNotice(id, seq, delivered ? { delivered } : { delivered, dueAt: at + due, error: "no" }),
      ),
    ),
  fc
    .tuple(fc.constantFrom("q1", "q2"), account, later)
    .map(([id, account, life]) =>
      call(
        `issue ${id}`,
        async ({ store }, at) =>
          (await store.issuedQuote(id)) === null &&
          store.issueQuote({ id, account, basis: { n: 1 }, expiresAt: at + life }, at),
      ),
    ),
  fc
    .tuple(fc.constantFrom("q1", "q2"), run)
    .map(([id, runId]) => call(`use ${id}`, ({ store }, at) => store.useQuote(id, runId, at))),
  fc
    .tuple(run, step, fc.option(small))
    .map(([id, step, n]) =>
      call(`progress ${id}`, ({ store }) =>
        store.setProgress(id, { step, fraction: n === null ? null : n / 3, estimatedCompletionAt: n }),
      ),
    ),
  run.map((id) =>
    call(`remove ${id}`, async ({ store, leases }, at) => {
      const outcome = await store.removeRun(id, at);
      if (outcome.removed) leases.delete(id);
      return outcome;
    }),
  ),
);

async function viewOf({ store }: World): Promise<readonly unknown[]> {
  const rows = await store.runs();
  const details = rows.map(({ runId }) => [
    store.read(runId),
    store.inbox(runId),
    store.progress(runId),
    store.snapshot(runId),
    store.results({ runId }),
    store.ledger(runId),
  ]);
  const accounts = KEYS.map((keyId) => accountOf({ baseUrl, keyId }));
  return Promise.all([
    rows,
    ...details.flat(),
    store.notices(),
    store.runs({ tags: { client: "acme" }, limit: 2 }),
    store.runs({ search: "film R1" }),
    store.mediaInUse(),
    store.mediaInUse(["r1"]),
    store.issuedQuote("q1"),
    store.issuedQuote("q2"),
    ...accounts.flatMap((account) => [
      store.results({ account, fingerprint: "f1" }),
      store.results({ account, model: "m" }, 2),
      store.accountLedger(account),
    ]),
  ]);
}

function comparable(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_name, inner) =>
      inner instanceof Set
        ? [...inner].sort()
        : inner instanceof Error
          ? { error: (inner as { code?: string }).code }
          : inner,
    ) ?? "null",
  );
}

/** Compares a store with the reference after any calls in any order. */
export function operationsContract(name: string, open: () => Promise<JournalStore>, numRuns: number): void {
  test(`${name} and the reference answer alike and hold the same after any calls`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(operation, fc.integer({ min: 0, max: 40 })), { maxLength: 40, size: "max" }),
        async (calls) => {
          const worlds = await Promise.all(
            [createReferenceJournal(), open()].map(async (store) => ({ store: await store, leases: new Map() })),
          );
          let at = 1_000;
          for (const { store, leases } of worlds) {
            for (const [index, id] of ["r1", "r2"].entries()) {
              await store.createRun(id, { ...planned(KEYS[index]!), tags: { client: "acme" } }, at);
              const taken = await store.takeLease(id, holder("x"), { at, ttlMs: 50, isDead: () => false });
              if (taken.acquired) leases.set(id, taken.lease);
            }
          }
          for (const [{ name, perform }, pause] of calls) {
            at += pause;
            const answer = async (world: World) => comparable(await perform(world, at));
            const [wanted, got] = await Promise.all(worlds.map((world) => answer(world).catch(comparable)));
            expect(got, name).toEqual(wanted);
          }
          const [wanted, got] = await Promise.all(worlds.map(async (world) => comparable(await viewOf(world))));
          expect(got).toEqual(wanted);
          await Promise.all(worlds.map(({ store }) => store.close()));
        },
      ),
      { numRuns },
    );
  });
}
