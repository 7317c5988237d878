import { readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { JournalDiskFullError, JournalRecordError } from "../../../src/core/journal/errors.ts";
import { createMemoryJournal, type JournalStore, type Pipeline } from "../../../src/index.ts";
import { during, greyPng, newFolder, openFakeShow, SimulatedClock } from "../../support/engine.ts";
import { apiCallError, filmBy, MockProvider, pictureBy } from "../../support/mock-models.ts";
import { overriding } from "../../support/overriding.ts";

const LEASE_MS = 30_000;

/** A provider whose answers are held back; its work is done and paid for by then. */
class SlowProvider extends MockProvider {
  #answers = Promise.withResolvers<void>();

  answer(): void {
    this.#answers.resolve();
  }

  override image() {
    const model = super.image();
    return { ...model, doGenerate: this.#late(model.doGenerate.bind(model)) };
  }

  override startingVideo() {
    const model = super.startingVideo();
    return { ...model, doStart: this.#late(model.doStart!.bind(model)) };
  }

  #late<Options, Answer>(ask: (options: Options) => PromiseLike<Answer>) {
    return async (options: Options): Promise<Answer> => {
      const asked = ask(options);
      const answer = Promise.resolve(asked);
      answer.catch(() => {});
      await this.#answers.promise;
      return answer;
    };
  }
}

/** The journal of a process that is frozen: its lease is not renewed until it thaws. */
function frozenJournal(journal: JournalStore) {
  const thaws = Promise.withResolvers<void>();
  const frozen = overriding(journal, {
    async renewLease(...given) {
      await thaws.promise;
      return journal.renewLease(...given);
    },
  });
  return { frozen, thaw: () => thaws.resolve() };
}

/** The first holder's lease has ended during its request, and a second one may take the run over. */
async function takenOver(provider = new SlowProvider(), of: (provider: MockProvider) => Pipeline = pictureBy) {
  const second = await openFakeShow();
  const { clock } = second;
  const { frozen, thaw } = frozenJournal(second.journal);
  const { mediaDir, paidService } = second;
  const first = await openFakeShow({ journal: frozen, mediaDir, paidService, clock });
  const handle = await first.show.run(of(provider), {}, { id: "x", outDir: second.outDir });
  const ended = handle.result().catch((error: unknown) => error);
  await clock.advance(2 * LEASE_MS);
  expect(provider.requests).toHaveLength(1);
  return {
    provider,
    second,
    /** The second one goes on with the run. */
    resumed: () => second.resume({ pipeline: of(provider) }),
    /** The provider answers, and the first holder ends. */
    answered: async () => {
      thaw();
      provider.answer();
      return during(clock, ended);
    },
  };
}

describe("an answer of a provider that comes after its process lost the run", () => {
  test.each([
    ["with its media", pictureBy, "0.05"],
    ["with an operation, which is asked for", filmBy, "0.50"],
  ])("%s settles the step for the next holder, and nothing is sent again [G1]", async (_, of, cost) => {
    const { provider, resumed, answered } = await takenOver(new SlowProvider(), of);
    expect(await resumed()).toMatchObject({ status: "paused", pause: { reason: "unresolved" } });
    expect(await answered()).toMatchObject({ code: "RUN_TAKEN_OVER" });
    expect(await resumed()).toMatchObject({ status: "succeeded", report: { cost, held: "0.00" } });
    expect([provider.requests.length, provider.made]).toEqual([1, 1]);
  });

  describe("and refuses the request", () => {
    const refusing = (status: number) =>
      new SlowProvider("mock", [{ throws: apiCallError(status, "no such size") }, "made"]);

    test("settles the step, and its hold is free again without a person", async () => {
      const { provider, resumed, answered } = await takenOver(refusing(400));
      expect(await resumed()).toMatchObject({ status: "paused", report: { held: "0.05" } });
      await answered();
      expect(await resumed()).toMatchObject({ status: "failed", report: { cost: "0.00", held: "0.00" } });
      expect(provider.requests).toHaveLength(1);
    });

    test("is followed by another request where it was only busy", async () => {
      const { provider, resumed, answered } = await takenOver(refusing(429));
      await resumed();
      await answered();
      expect(await resumed()).toMatchObject({ status: "succeeded", report: { cost: "0.05", held: "0.00" } });
      expect([provider.requests.length, provider.made]).toEqual([2, 1]);
    });

    test("proves nothing of a key that was sent again meanwhile", async () => {
      const provider = new SlowProvider("gateway", [{ throws: apiCallError(400, "no") }, "made"]);
      const { second, resumed, answered } = await takenOver(provider, filmBy);
      const ended = resumed();
      while (provider.requests.length < 2) await second.clock.advance(250);
      await answered();
      expect(await ended).toMatchObject({ status: "succeeded", report: { cost: "0.50", held: "0.00" } });
      expect([provider.requests.length, provider.made]).toEqual([2, 1]);
    });

    test("leaves it to a person where the answer proves nothing", async () => {
      const { resumed, answered } = await takenOver(refusing(500));
      await resumed();
      await answered();
      const left = { status: "paused", pause: { reason: "unresolved" }, report: { held: "0.05" } };
      expect(await resumed()).toMatchObject(left);
    });

    test("changes nothing where a person has said meanwhile what came of it", async () => {
      const { provider, second, resumed, answered } = await takenOver(refusing(429));
      await resumed();
      await second.show.adopt("x", "still", null);
      expect((await resumed()).status).toBe("failed");
      await answered();
      expect(await resumed()).toMatchObject({ status: "failed", report: { held: "0.00" } });
      expect(provider.requests).toHaveLength(1);
    });
  });

  test("counts before a person's word, not yet read, that nothing was made", async () => {
    const { second, resumed, answered } = await takenOver();
    await resumed();
    await second.show.adopt("x", "still", null);
    await answered();
    expect(await resumed()).toMatchObject({ status: "succeeded", report: { cost: "0.05", held: "0.00" } });
  });

  test("changes nothing where a person has given the file meanwhile", async () => {
    const { second, resumed, answered } = await takenOver();
    await resumed();
    const file = join(newFolder(), "given.png");
    await writeFile(file, greyPng(32));
    await second.show.adopt("x", "still", file);
    expect((await resumed()).status).toBe("succeeded");
    await answered();
    const report = { cost: "0.05", steps: [{ outputs: [{ width: 32 }] }] };
    expect(await resumed()).toMatchObject({ status: "succeeded", report });
  });

  test("keeps its media until the run takes it in", async () => {
    const { second, resumed, answered } = await takenOver();
    await resumed();
    await answered();
    const { mediaDir, show } = second;
    for (const name of await readdir(mediaDir, { recursive: true })) await utimes(join(mediaDir, name), 1, 1);
    expect((await show.gc()).media.count).toBe(0);
    expect((await resumed()).status).toBe("succeeded");
  });

  test("wakes a run that an engine left for it", async () => {
    const { provider, second, answered } = await takenOver();
    const { clock } = second;
    const slice = () =>
      during(clock, second.show.engine.slice("x", { findPipeline: async () => pictureBy(provider), anew: true }));
    expect(await slice()).toMatchObject({ status: "paused", wakeAt: null });
    await answered();
    const { account } = (await second.journal.run("x"))!;
    expect(await second.journal.dueRuns({ account, at: clock.now(), limit: 1 })).toHaveLength(1);
    expect(await slice()).toMatchObject({ status: "succeeded" });
    expect(provider.requests).toHaveLength(1);
  });
});

/** A journal that takes nothing while it fails. */
function failingJournal(inner: JournalStore) {
  const failing: { error: Error | null; left: number } = { error: null, left: 0 };
  const writes = (["commit", "send", "takeLease", "renewLease", "releaseLease"] as const).map((name) => {
    const method = inner[name].bind(inner) as (...given: unknown[]) => unknown;
    const write = (...given: unknown[]) => {
      if (failing.error === null) return method(...given);
      if (name === "send") failing.left++;
      return Promise.reject(failing.error);
    };
    return [name, write] as const;
  });
  return { journal: overriding(inner, Object.fromEntries(writes)), failing };
}

describe("an answer of a provider that comes while the journal takes nothing", () => {
  async function answeredInto(error: Error) {
    const clock = new SimulatedClock();
    const { journal, failing } = failingJournal(createMemoryJournal({ now: () => clock.now() }));
    const world = await openFakeShow({ journal, clock });
    const provider = new SlowProvider();
    const stop = new AbortController();
    const { outDir, show } = world;
    const handle = await show.run(pictureBy(provider), {}, { id: "x", outDir, signal: stop.signal });
    const ended = handle.result().catch((thrown: unknown) => thrown);
    await clock.advance(1_000);
    failing.error = error;
    provider.answer();
    return { world, provider, failing, ended, stop };
  }

  test("is held on to until there is space again [G1]", async () => {
    const { world, provider, failing, ended } = await answeredInto(new JournalDiskFullError("x", "No space is left."));
    const { clock } = world;
    await clock.advance(120_000);
    failing.error = null;
    expect(await during(clock, ended)).toMatchObject({ code: "JOURNAL_DISK_FULL" });
    const done = { status: "succeeded", report: { cost: "0.05", held: "0.00" } };
    expect(await world.resume({ pipeline: pictureBy(provider) })).toMatchObject(done);
    expect(provider.requests).toHaveLength(1);
  });

  test.each([
    ["some ten minutes", new JournalDiskFullError("x", "No space is left."), 41],
    ["not at all where that cannot help", new JournalRecordError("It cannot be stored."), 1],
  ])("is held on to for %s", async (_, error, times) => {
    const { world, failing, ended } = await answeredInto(error);
    await during(world.clock, ended);
    expect(failing.left).toBe(times);
  });

  test("is let go where a person stops the run", async () => {
    const { world, failing, ended, stop } = await answeredInto(new JournalDiskFullError("x", "No space is left."));
    const { clock } = world;
    while (failing.left < 4) await clock.advance(1_000);
    stop.abort();
    await during(clock, ended);
    expect(failing.left).toBe(5);
  });
});
