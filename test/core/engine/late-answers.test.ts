import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { JournalDiskFullError, JournalRecordError } from "../../../src/core/journal/errors.ts";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import { createMemoryJournal, type JournalStore, type Pipeline, type RunResult } from "../../../src/index.ts";
import { during, type FakeShow, openFakeShow, SimulatedClock } from "../../support/engine.ts";
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

interface Late {
  readonly second: FakeShow;
  readonly clock: SimulatedClock;
  /** The provider answers, and the first holder ends. */
  answered(): Promise<unknown>;
}

/** The first holder's lease has ended during its request, and a second one took the run over. */
async function takenOver(provider: SlowProvider, of: (provider: MockProvider) => Pipeline): Promise<Late> {
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
    second,
    clock,
    answered: async () => {
      thaw();
      provider.answer();
      return during(clock, ended);
    },
  };
}

const resumed = ({ second }: Late, of: Pipeline): Promise<RunResult> => second.resume({ pipeline: of });

describe("an answer of a provider that comes after its process lost the run", () => {
  test.each([
    ["with its media", pictureBy, "0.05"],
    ["with an operation, which is asked for", filmBy, "0.50"],
  ])("%s settles the step for the next holder, and nothing is sent again [G1]", async (_, of, cost) => {
    const provider = new SlowProvider();
    const late = await takenOver(provider, of);
    expect(await resumed(late, of(provider))).toMatchObject({ status: "paused", pause: { reason: "unresolved" } });
    expect(await late.answered()).toMatchObject({ code: "RUN_TAKEN_OVER" });
    const result = await resumed(late, of(provider));
    expect(result).toMatchObject({ status: "succeeded", report: { cost, held: "0.00" } });
    expect([provider.requests.length, provider.made]).toEqual([1, 1]);
  });

  describe("and refuses the request", () => {
    const refusing = (status: number) =>
      new SlowProvider("mock", [{ throws: apiCallError(status, "no such size", { prompt: "a red boat" }) }, "made"]);

    test("settles the step, and its hold is free again without a person", async () => {
      const provider = refusing(400);
      const late = await takenOver(provider, pictureBy);
      expect(await resumed(late, pictureBy(provider))).toMatchObject({ status: "paused", report: { held: "0.05" } });
      await late.answered();
      const result = await resumed(late, pictureBy(provider));
      expect(result).toMatchObject({ status: "failed", report: { cost: "0.00", held: "0.00" } });
      expect(provider.requests).toHaveLength(1);
    });

    test("is followed by another request where it was only busy", async () => {
      const provider = refusing(429);
      const late = await takenOver(provider, pictureBy);
      await resumed(late, pictureBy(provider));
      await late.answered();
      const result = await resumed(late, pictureBy(provider));
      expect(result).toMatchObject({ status: "succeeded", report: { cost: "0.05", held: "0.00" } });
      expect([provider.requests.length, provider.made]).toEqual([2, 1]);
    });

    test("proves nothing of a key that was sent again meanwhile", async () => {
      const provider = new SlowProvider("gateway", [
        { throws: apiCallError(400, "no", { prompt: "a red boat" }) },
        "made",
      ]);
      const late = await takenOver(provider, filmBy);
      const second = resumed(late, filmBy(provider));
      while (provider.requests.length < 2) await late.clock.advance(250);
      await late.answered();
      expect(await second).toMatchObject({ status: "succeeded", report: { cost: "0.50", held: "0.00" } });
      expect([provider.requests.length, provider.made]).toEqual([2, 1]);
    });

    test("leaves it to a person where the answer proves nothing", async () => {
      const provider = refusing(500);
      const late = await takenOver(provider, pictureBy);
      await resumed(late, pictureBy(provider));
      await late.answered();
      const result = await resumed(late, pictureBy(provider));
      expect(result).toMatchObject({ status: "paused", pause: { reason: "unresolved" }, report: { held: "0.05" } });
    });

    test("changes nothing where a person has said meanwhile what came of it", async () => {
      const provider = refusing(429);
      const late = await takenOver(provider, pictureBy);
      await resumed(late, pictureBy(provider));
      await late.second.show.adopt("x", "still", null);
      expect(await resumed(late, pictureBy(provider))).toMatchObject({ status: "failed" });
      await late.answered();
      expect(await resumed(late, pictureBy(provider))).toMatchObject({ status: "failed", report: { held: "0.00" } });
      expect(provider.requests).toHaveLength(1);
    });
  });

  test("counts before a person's word, not yet read, that nothing was made", async () => {
    const provider = new SlowProvider();
    const late = await takenOver(provider, pictureBy);
    await resumed(late, pictureBy(provider));
    await late.second.show.adopt("x", "still", null);
    await late.answered();
    const result = await resumed(late, pictureBy(provider));
    expect(result).toMatchObject({ status: "succeeded", report: { cost: "0.05", held: "0.00" } });
  });

  test("changes nothing where a person has given the file meanwhile", async () => {
    const provider = new SlowProvider();
    const late = await takenOver(provider, pictureBy);
    await resumed(late, pictureBy(provider));
    const file = join(late.second.outDir, "given.png");
    await mkdir(late.second.outDir, { recursive: true });
    await writeFile(file, greyPng(32));
    await late.second.show.adopt("x", "still", file);
    expect(await resumed(late, pictureBy(provider))).toMatchObject({ status: "succeeded" });
    await late.answered();
    const result = await resumed(late, pictureBy(provider));
    expect(result).toMatchObject({
      status: "succeeded",
      report: { cost: "0.05", steps: [{ outputs: [{ width: 32 }] }] },
    });
  });

  test("keeps its media until the run takes it in", async () => {
    const provider = new SlowProvider();
    const late = await takenOver(provider, pictureBy);
    await resumed(late, pictureBy(provider));
    await late.answered();
    const { mediaDir, show } = late.second;
    for (const name of await readdir(mediaDir, { recursive: true })) await utimes(join(mediaDir, name), 1, 1);
    expect((await show.gc()).media.count).toBe(0);
    expect(await resumed(late, pictureBy(provider))).toMatchObject({ status: "succeeded" });
  });

  test("wakes a run that an engine left for it", async () => {
    const provider = new SlowProvider();
    const late = await takenOver(provider, pictureBy);
    const { clock, second } = late;
    const slice = () =>
      during(clock, second.show.engine.slice("x", { findPipeline: async () => pictureBy(provider), anew: true }));
    expect(await slice()).toMatchObject({ status: "paused", wakeAt: null });
    await late.answered();
    const { account } = (await second.journal.run("x"))!;
    expect(await second.journal.dueRuns({ account, at: clock.now(), limit: 1 })).toHaveLength(1);
    expect(await slice()).toMatchObject({ status: "succeeded" });
    expect(provider.requests).toHaveLength(1);
  });
});

/** A journal that takes nothing while it fails. */
function failingJournal(inner: JournalStore) {
  const failing = { error: null as Error | null, left: 0 };
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
    const result = await world.resume({ pipeline: pictureBy(provider) });
    expect(result).toMatchObject({ status: "succeeded", report: { cost: "0.05", held: "0.00" } });
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
