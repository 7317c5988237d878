import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { BucketStore, MediaCache } from "../../../../src/core/engine/media/bucket/bucket-store.ts";
import { openMediaStore } from "../../../../src/core/engine/media/folder-store.ts";
import { collectGarbage } from "../../../../src/core/engine/media/gc.ts";
import { GRACE_MS, type MediaGarbage, type MediaStore } from "../../../../src/core/engine/media/media-store.ts";
import type { JournalStore } from "../../../../src/core/journal/store.ts";
import { isFull, newFolder } from "../../../support/engine.ts";
import { FakeBucket } from "../../../support/fake-bucket.ts";

vi.setConfig({ testTimeout: 300_000 });

const DAY_MS = 24 * 3_600_000;
const CONTENTS = [Buffer.from("a lamp"), Buffer.from("a bell")];
const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** What `gc` needs of a journal: the hashes that runs name. */
function journalOf(named: ReadonlySet<string>, turn: (what: string) => Promise<void>): JournalStore {
  const mediaInUse = async () => {
    await turn("journal is asked");
    const known = new Set(named);
    await turn("journal answers");
    return known;
  };
  const none = async () => [];
  return { runs: none, results: none, dropHandles: async () => 0, mediaInUse } as never as JournalStore;
}

/** Two machines with a store each on the same media, and a `gc` on each. */
interface World {
  readonly stores: readonly [MediaStore, MediaStore];
  turn: (what: string) => Promise<void>;
  /** Makes everything in the store old. */
  age(): Promise<void>;
  pass(ms: number): Promise<void>;
  isStored(sha256: string): Promise<boolean>;
}

async function bucketWorld(): Promise<World> {
  const bucket = new FakeBucket();
  const dir = newFolder();
  const [one, two] = await Promise.all(
    ["one", "two"].map(async (name) => new BucketStore(bucket, await MediaCache.open(join(dir, name), 1e9))),
  );
  return {
    stores: [one!, two!],
    get turn() {
      return bucket.turn;
    },
    set turn(turn) {
      bucket.turn = turn;
    },
    age: async () => bucket.pass(2 * GRACE_MS),
    pass: async (ms) => bucket.pass(ms),
    isStored: async (sha256) => [...bucket.objects.keys()].some((key) => key.includes(sha256)),
  };
}

async function folderWorld(): Promise<World> {
  const dir = newFolder();
  const world = { turn: async (_what: string) => {} };
  const busy = new Set<Promise<unknown>>();
  let passing = Promise.resolve();
  /** Time passes between the steps of a machine, not within one: what it touches then would be made old again. */
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    await passing;
    const done = work();
    busy.add(done);
    return done.finally(() => busy.delete(done));
  };
  const paced = async () => {
    const store = await openMediaStore(dir);
    const put = store.put.bind(store);
    store.put = (media) => step(() => put(media));
    const garbage: MediaGarbage = store.garbage;
    for (const name of ["discard", "restore", "purge"] as const) {
      const call = garbage[name].bind(garbage) as (given: never) => Promise<never>;
      Object.assign(garbage, {
        [name]: async (given: never) => {
          await world.turn(name);
          const done = await step(() => call(given));
          await world.turn(`${name} is done`);
          return done;
        },
      });
    }
    return store;
  };
  const [one, two] = [await paced(), await paced()];
  const older = async (ms: number) => {
    const before = passing;
    const passed = Promise.withResolvers<void>();
    passing = before.then(() => passed.promise);
    try {
      await before;
      await Promise.allSettled(busy);
      for await (const { sha256, ageMs } of one.garbage.list()) {
        const at = (Date.now() - ageMs - ms) / 1000;
        // One that is being discarded stays as it is.
        await utimes(one.path(sha256), at, at).catch(() => {});
      }
    } finally {
      passed.resolve();
    }
  };
  return Object.assign(world, {
    stores: [one, two] as const,
    age: () => older(2 * GRACE_MS),
    pass: older,
    isStored: async (sha256: string) => existsSync(one.path(sha256)) || (await one.garbage.restore(sha256)),
  });
}

describe.each([
  { name: "a bucket", open: bucketWorld, numRuns: 400 },
  { name: "a shared folder", open: folderWorld, numRuns: 150 },
])("gc on two machines at once, in $name", ({ open, numRuns }) => {
  test("never takes what a run on either machine is about to name, in any order of steps; what nobody names goes [G15]", async () => {
    let raced = 0;
    const writer = fc.record({
      machine: fc.nat(1),
      content: fc.constantFrom(0, 0, 0, 1),
      waitMs: fc.nat(GRACE_MS / 2 - 60_000),
    });
    const lives = fc.asyncProperty(
      fc.scheduler(),
      fc.array(writer, { minLength: 1, maxLength: 3 }),
      fc.array(fc.nat(1), { minLength: 1, maxLength: 2 }),
      fc.constantFrom([0], [0, 1], []),
      async (scheduler, writers, collectors, before) => {
        const world = await open();
        const named = new Set<string>();
        for (const content of before) await world.stores[0].put({ bytes: CONTENTS[content]! });
        await world.age();
        world.turn = (what) => scheduler.schedule(Promise.resolve(), what);
        const store = journalOf(named, (what) => world.turn(what));
        const gc = (machine: number) => collectGarbage({ store, media: world.stores[machine]!, now: () => 0 });
        const write = async ({ machine, content, waitMs }: (typeof writers)[number]) => {
          await world.turn("a writer begins");
          const { sha256 } = await world.stores[machine]!.put({ bytes: CONTENTS[content]! });
          await world.turn("a writer has put");
          await world.pass(waitMs / writers.length);
          named.add(sha256);
        };
        let removed = 0;
        const count = async (machine: number) => {
          removed += (await gc(machine)).media.count;
        };
        await scheduler.waitFor(Promise.all([...writers.map(write), ...collectors.map(count)]));
        if (removed > 0) raced += 1;
        world.turn = async () => {};
        await Promise.all([gc(0), gc(1)]);
        for (const sha256 of named) {
          expect(await world.stores[1].has(sha256)).toBe(true);
          expect(await world.stores[1].verify(sha256)).toBe("intact");
        }
        await world.pass(2 * DAY_MS);
        await gc(0);
        await world.pass(2 * DAY_MS);
        await gc(1);
        for (const bytes of CONTENTS) {
          const sha256 = sha256Of(bytes);
          expect([sha256, await world.isStored(sha256)]).toEqual([sha256, named.has(sha256)]);
        }
      },
    );
    await fc.assert(lives, { numRuns: isFull ? 10 * numRuns : numRuns });
    expect(raced).toBeGreaterThan(10);
  });
});

test("a run that names an object between the check and its deletion reads it from where it was set aside [G15]", async () => {
  const bucket = new FakeBucket();
  const open = async () => new BucketStore(bucket, await MediaCache.open(newFolder(), 1e9));
  const [machine, other] = [await open(), await open()];
  const { sha256 } = await machine.put({ bytes: CONTENTS[0]! });
  bucket.pass(2 * GRACE_MS);
  const named = new Set<string>();
  bucket.turn = async (request) => {
    if (!request.startsWith(`DELETE media/`)) return;
    bucket.turn = async () => {};
    expect(await other.touch(sha256)).toBe(true);
  };
  const store = journalOf(named, async () => {});
  expect((await collectGarbage({ store, media: machine, now: () => 0 })).media.count).toBe(1);
  named.add(sha256);
  expect(bucket.objects.has(`media/${sha256.slice(0, 2)}/${sha256}`)).toBe(false);
  await using held = await other.hold([sha256]);
  expect(held.sizeBytes(sha256)).toBe(CONTENTS[0]!.length);
  expect(bucket.objects.has(`media/${sha256.slice(0, 2)}/${sha256}`)).toBe(true);
});
