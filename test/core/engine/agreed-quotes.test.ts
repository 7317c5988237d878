import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { DAY_MS } from "../../../src/core/kit/duration.ts";
import { formatUsd, parseUsd } from "../../../src/core/kit/money.ts";
import { OverBudgetError, pipeline, QuoteRefusedError, type RunResult, type Showrunner } from "../../../src/index.ts";
import { during, isFull, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

/** So many pictures, each with its own prompt. */
const pictures = pipeline("pictures", {
  input: z.object({ prompts: z.array(z.string()) }),
  build({ input, job }) {
    const made = input.prompts.map((prompt, n) => job(`p${n}`, models.image, { prompt }, { keep: false }));
    return { first: made[0]! };
  },
});

const boat = { prompt: "a boat", aspect_ratio: "16:9", duration_ms: 5000 } as const;

/** A film whose enlarged form nobody can price before it is there, beside a picture. */
const enlarged = pipelineOf("enlarged", ({ job }) => {
  const film = job("film", models.video, boat, { keep: false });
  const large = job("large", models.upscale, { source_video: film }, { keep: false });
  const poster = job("poster", models.image, { prompt: "a boat" }, { keep: false });
  return { large, poster };
});

interface Prices {
  [model: string]: number;
}

/** A service whose prices can be moved. */
async function world(prices: Prices = {}) {
  const fake = await openFakeShow({ priceMicros: (model) => prices[model] ?? 100_000 });
  const ended = async (starting: Promise<{ result(): Promise<RunResult> }>) =>
    during(fake.clock, (await during(fake.clock, starting)).result());
  const refusal = async (starting: Promise<unknown>): Promise<QuoteRefusedError> => {
    const error = await during(fake.clock, starting).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(QuoteRefusedError);
    return error as QuoteRefusedError;
  };
  return { ...fake, prices, ended, refusal };
}

test("a quote says what it costs at most, until when, and by what a start agrees to it", async () => {
  const { show, clock, ended, paidService } = await world();
  const quote = await show.quote(pictures, { prompts: ["a", "b"] });
  expect(quote).toMatchObject({ id: expect.stringMatching(/^quote_[0-9a-f]{24}$/), maximumUsd: "0.20" });
  expect(quote.expiresAt).toBe(clock.now() + DAY_MS);
  const run = await ended(show.run(pictures, { prompts: ["a", "b"] }, { quote: quote.id! }));
  expect([run.status, run.report.budget, paidService.chargedMicros]).toEqual(["succeeded", "0.20", 200_000]);
});

test("what cannot be run has no id, nor has what is only priced", async () => {
  const { show } = await world();
  const wrong = await show.quote(pictures, { prompts: [""] });
  expect([wrong.ok, wrong.id, wrong.maximumUsd]).toEqual([false, null, null]);
  const priced = await show.quote(pictures, { prompts: ["a"] }, { keep: false });
  expect([priced.ok, priced.id]).toEqual([true, null]);
});

test("a start with another input than the quote's is refused with what differs and another quote, which starts it", async () => {
  const { show, paidService, ended, refusal } = await world();
  const { id } = await show.quote(pictures, { prompts: ["a", "b"] });
  const error = await refusal(show.run(pictures, { prompts: ["a", "c", "d"] }, { quote: id! }));
  expect(error).toMatchObject({ why: "plan", changes: ["input.prompts changed", "p1 changed", "p2 is new"] });
  expect(error.message).toContain(`Current quote: ${error.offer.id}, at most 0.30 USD.`);
  expect([paidService.jobs.size, (await show.runs()).length]).toEqual([0, 0]);
  await ended(show.run(pictures, { prompts: ["a", "c", "d"] }, { quote: error.offer.id! }));
  expect(paidService.jobs.size).toBe(3);
});

test("a price that rose above the maximum is refused with both amounts, also a moment after it was asked for; one that fell is not", async () => {
  const { show, clock, paidService, prices, ended, refusal } = await world();
  const { id } = await show.quote(pictures, { prompts: ["a", "b"] });
  await clock.advance(60_000);
  prices["image-1"] = 150_000;
  const error = await refusal(show.run(pictures, { prompts: ["a", "b"] }, { quote: id! }));
  expect(error).toMatchObject({
    why: "price",
    changes: [
      "the total is now at most 0.30 USD; you agreed to at most 0.20 USD",
      "p0 now costs at most 0.15 USD instead of 0.10 USD",
      "p1 now costs at most 0.15 USD instead of 0.10 USD",
    ],
    offer: { maximumUsd: "0.30" },
  });
  expect(paidService.jobs.size).toBe(0);
  await clock.advance(60_000);
  prices["image-1"] = 50_000;
  await ended(show.run(pictures, { prompts: ["a", "b"] }, { quote: id! }));
  expect(paidService.chargedMicros).toBe(100_000);
});

test("a quote starts one run: another start is told which, and the same run id is the same run", async () => {
  const { show, paidService, ended, refusal } = await world();
  const input = { prompts: ["a"] };
  const { id } = await show.quote(pictures, input);
  await ended(show.run(pictures, input, { quote: id!, id: "one", budget: "5" }));
  const again = await ended(show.run(pictures, input, { quote: id!, id: "one", budget: "5" }));
  expect([again.id, again.report.budget]).toEqual(["one", "0.10"]);
  const error = await refusal(show.run(pictures, input, { quote: id!, id: "two" }));
  expect(error).toMatchObject({ why: "used", changes: ["the quote was already used to start run one"] });
  expect([paidService.jobs.size, (await show.runs()).length]).toEqual([1, 1]);
});

test("a quote that has expired, and one that is of another account or nobody's, starts nothing", async () => {
  const { show, clock, paidService, journal, refusal } = await world();
  const input = { prompts: ["a"] };
  const { id, expiresAt } = await show.quote(pictures, input);
  await clock.advance(DAY_MS);
  const late = await refusal(show.run(pictures, input, { quote: id! }));
  expect(late).toMatchObject({
    why: "expired",
    changes: [`the quote was valid until ${new Date(expiresAt!).toISOString()}`],
  });
  expect((await refusal(show.run(pictures, input, { quote: "quote_0" }))).why).toBe("unknown");
  const foreign = (await journal.issuedQuote(late.offer.id!))!;
  await journal.issueQuote({ ...foreign, id: "quote_1", account: "key_9@https://other.test/v3" }, clock.now());
  expect((await refusal(show.run(pictures, input, { quote: "quote_1" }))).why).toBe("unknown");
  expect(paidService.jobs.size).toBe(0);
});

test("of starts with one quote in several processes one becomes a run", async () => {
  const fake = await world();
  const { clock, journal, paidService, mediaDir } = fake;
  const others = await Promise.all([1, 2, 3].map(() => openFakeShow({ clock, journal, paidService, mediaDir })));
  const input = { prompts: ["a"] };
  const { id } = await fake.show.quote(pictures, input);
  const starts = others.map(({ show }) => show.run(pictures, input, { quote: id! }));
  const settled = await during(clock, Promise.allSettled(starts));
  const started = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const refused = settled.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  expect(started).toHaveLength(1);
  expect(refused.map(({ why }) => why)).toEqual(["used", "used"]);
  await during(clock, started[0]!.result());
  expect([paidService.jobs.size, (await fake.show.runs()).length]).toEqual([1, 1]);
});

test("a quote lowers a budget, and does not raise one", async () => {
  const { show, clock, ended } = await world();
  const input = { prompts: ["a", "b"] };
  const asked = async () => (await show.quote(pictures, input)).id!;
  const wide = await ended(show.run(pictures, input, { quote: await asked(), budget: "5" }));
  expect(wide.report.budget).toBe("0.20");
  const narrow = during(clock, show.run(pictures, input, { quote: await asked(), budget: "0.15" }));
  await expect(narrow).rejects.toBeInstanceOf(OverBudgetError);
});

test("at a step whose price nobody knew the run asks for that price, once all that was agreed to is done", async () => {
  const { show, paidService, ended } = await world({ "video-1": 250_000, "upscale-1": 420_000 });
  const quote = await show.quote(enlarged, {});
  expect([quote.totalMicros.max, quote.maximumUsd]).toEqual([null, "0.35"]);
  const asked = await ended(show.run(enlarged, {}, { quote: quote.id!, id: "x" }));
  expect(asked.pause).toMatchObject({ reason: "budget", requiredMicros: 770_000 });
  expect(asked.pause!.message).toBe(
    `large costs 0.42 USD: this was not known when quote ${quote.id} was accepted, so the accepted total of 0.35 USD does not include it. To accept it: showrunner resume x --budget 0.77`,
  );
  expect(asked.report.next?.command).toBe("showrunner resume x --budget 0.77");
  expect([...paidService.jobs.values()].map(({ model }) => model).sort()).toEqual(["image-1", "video-1"]);
  for (const how of [{}, { budget: "0.76" }])
    expect([(await ended(show.resume("x", how))).status, paidService.jobs.size]).toEqual(["paused", 2]);
  const done = await ended(show.resume("x", { budget: "1.18" }));
  expect([done.status, paidService.chargedMicros]).toEqual(["succeeded", 770_000]);
});

test("a price that is agreed to and rises before it is paid is asked for again", async () => {
  const { show, clock, paidService, prices, ended } = await world({ "upscale-1": 420_000 });
  const { id } = await show.quote(enlarged, {});
  await ended(show.run(enlarged, {}, { quote: id!, id: "x" }));
  await clock.advance(6 * 60_000);
  prices["upscale-1"] = 500_000;
  const again = await ended(show.resume("x", { budget: "0.62" }));
  expect([again.status, again.pause?.requiredMicros, paidService.jobs.size]).toEqual(["paused", 1_120_000, 2]);
  const done = await ended(show.resume("x", { budget: "1.12" }));
  expect([done.status, paidService.chargedMicros]).toEqual(["succeeded", 700_000]);
});

test("a maximum of the author's or of the operator's is part of what is agreed to", async () => {
  const capped = pipelineOf("capped", ({ job }) => {
    const film = job("film", models.video, boat, { keep: false });
    return { large: job("large", models.upscale, { source_video: film }, { keep: false, maxCost: "0.50" }) };
  });
  const { show, ended } = await world({ "upscale-1": 420_000 });
  const own = await show.quote(capped, {});
  expect(own.maximumUsd).toBe("0.60");
  expect((await ended(show.run(capped, {}, { quote: own.id! }))).status).toBe("succeeded");
  const operators = await show.quote(enlarged, {}, { maxUnquoted: "0.45" });
  expect(operators.maximumUsd).toBe("0.65");
  const run = await ended(show.run(enlarged, {}, { quote: operators.id!, maxUnquoted: "0.45" }));
  expect(run.status).toBe("succeeded");
});

test("a run that shares its budget keeps to its own quote, and is agreed to by itself", async () => {
  const { show, ended, paidService } = await world({ "upscale-1": 420_000 });
  const shared = { tags: { customer: "acme" }, budget: "50", budgetTag: "customer=acme" };
  const { id } = await show.quote(enlarged, {});
  const asked = await ended(show.run(enlarged, {}, { ...shared, quote: id!, id: "x" }));
  expect(asked.pause?.requiredMicros).toBe(620_000);
  expect(asked.report.next?.command).toBe("showrunner resume x --agree 0.62");
  const other = await ended(show.resume("x", { budget: "60" }));
  expect([other.status, paidService.jobs.size]).toEqual(["paused", 2]);
  const done = await ended(show.run(enlarged, {}, { ...shared, id: "x", agree: "0.62" }));
  expect([done.status, paidService.chargedMicros]).toEqual(["succeeded", 620_000]);
});

test("a rerun is agreed to by the quote of it: once, for just these steps, at no more than its maximum", async () => {
  const { show, clock, paidService, prices, ended, refusal } = await world();
  const input = { prompts: ["a", "b"] };
  const { id } = await show.quote(pictures, input);
  await ended(show.run(pictures, input, { quote: id!, id: "x" }));
  const one = await show.rerunQuote("x", ["p0"]);
  expect(one).toMatchObject({ stale: ["p0"], maximumUsd: "0.10", id: expect.stringMatching(/^quote_/) });
  const other = await refusal(show.resume("x", { rerun: ["p0", "p1"], quote: one.id! }));
  expect(other).toMatchObject({ why: "plan", changes: ["p1 is new"], offer: { maximumUsd: "0.20" } });
  prices["image-1"] = 120_000;
  await clock.advance(6 * 60_000);
  const dearer = await refusal(show.resume("x", { rerun: ["p0"], quote: one.id! }));
  expect(dearer).toMatchObject({ why: "price", offer: { maximumUsd: "0.12" } });
  expect(paidService.jobs.size).toBe(2);
  const done = await ended(show.resume("x", { rerun: ["p0"], quote: dearer.offer.id! }));
  expect([done.status, done.report.budget, paidService.chargedMicros]).toEqual(["succeeded", "0.32", 320_000]);
  expect((await refusal(show.resume("x", { rerun: ["p0"], quote: dearer.offer.id! }))).why).toBe("used");
  expect(paidService.jobs.size).toBe(3);
});

/** Takes, whose seeds are counted, a line that a local function shows as well, and pictures for a list, where `breaks` says how that goes. */
const mixed = ({ line = "Fresh bread", breaks }: { readonly line?: string; readonly breaks?: boolean }) =>
  pipelineOf("shown", ({ job, takes, task, expand }) => {
    const look = takes("look", models.image, { prompt: "a boat" }, { count: 2, choose: "first" });
    const speech = job("speech", models.speech, { text: line, voice_id: "voice_f9b70f7b" });
    const captions = task("captions", { lines: ["Fresh bread"] }, (given) => given);
    if (breaks === undefined) return { look, speech, captions };
    const words = task("words", { prompts: ["dawn"] }, ({ prompts }) => prompts);
    const grow = (prompts: readonly string[], inner: { readonly job: typeof job }) => {
      if (breaks) throw new Error("not yet");
      return prompts.map((prompt, n) => inner.job(`shot${n}`, models.image, { prompt }));
    };
    return { look, speech, captions, shots: expand("shots", words, grow, { maxSteps: 2, maxCost: "0.20" }) };
  });
const shown = mixed({});

test("an edit is agreed to by the quote of it; one of another text, or that replaces a text everywhere, is another edit", async () => {
  const { show, paidService, ended, refusal } = await world();
  await ended(show.run(shown, {}, { id: "x" }));
  const edit = { speech: { text: "Warm bread" } };
  const of = async (everywhere: boolean) => show.drift("x", shown, { edit, everywhere });
  const [{ id: all, maximumUsd }, { id: here }] = [await of(true), await of(false)];
  expect(maximumUsd).toBe("0.10");
  const how = { pipeline: shown, acceptChanges: true, edit };
  const others = [
    { everywhere: false, quote: all! },
    { everywhere: true, quote: here! },
    { everywhere: true, quote: all!, edit: { speech: { text: "Cold bread" } } },
  ];
  for (const other of others) expect((await refusal(show.resume("x", { ...how, ...other }))).why).toBe("plan");
  expect(paidService.jobs.size).toBe(2);
  const done = await ended(show.resume("x", { ...how, everywhere: true, quote: all! }));
  expect([done.status, paidService.jobs.size]).toEqual(["succeeded", 3]);
});

test("what is asked for beside changed code is agreed to by the quote of both, and by no other", async () => {
  const { show, paidService, ended, refusal } = await world();
  await ended(show.run(shown, {}, { id: "x" }));
  const rerun = ["look/1"];
  const changed = mixed({ line: "Warm bread" });
  const of = async (how: Parameters<Showrunner["drift"]>[2]) => (await show.drift("x", changed, how)).id!;
  const how = { pipeline: changed, acceptChanges: true, rerun };
  const alone = (await show.rerunQuote("x", rerun)).id!;
  for (const quote of [await of({}), alone, await of({ rerun: ["captions"] })])
    expect((await refusal(show.resume("x", { ...how, quote }))).why).toBe("plan");
  expect(paidService.jobs.size).toBe(2);
  const both = await show.drift("x", changed, { rerun });
  expect([both.maximumUsd, both.seeds.map(({ step }) => step)]).toEqual(["0.30", rerun]);
  const done = await ended(show.resume("x", { ...how, quote: both.id! }));
  expect([done.status, paidService.jobs.size]).toEqual(["succeeded", 4]);
});

test("a yes to what was just priced is always taken, whatever is asked for with whatever changed, and buys no more", async () => {
  const asked = fc.record({
    line: fc.constantFrom("Fresh bread", "Warm bread"),
    breaks: fc.boolean(),
    rerun: fc.subarray(["look/1", "speech", "captions"]),
    edit: fc.boolean(),
    takesUp: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(asked, async ({ line, breaks, rerun, edit: isEdited, takesUp }) => {
      const { show, paidService, ended } = await world();
      await ended(show.run(mixed({ breaks }), {}, { id: "x" }));
      const before = paidService.chargedMicros;
      const edit = isEdited ? { speech: { text: "Cold bread", voice_id: "voice_f9b70f7b" } } : undefined;
      const now = mixed({ line, breaks: false });
      const acceptChanges = takesUp || isEdited;
      const how = { rerun, edit, everywhere: false };
      const quote = await (acceptChanges
        ? show.drift("x", now, how)
        : show.rerunQuote("x", rerun, { pipeline: now, compare: false }));
      fc.pre(quote.stale.length > 0);
      expect(quote.problems).toEqual([]);
      const code = { pipeline: now, compare: acceptChanges, acceptChanges };
      await ended(show.resume("x", { ...code, ...(acceptChanges ? how : { rerun }), quote: quote.id! }));
      expect(paidService.chargedMicros - before).toBeLessThanOrEqual(parseUsd(quote.maximumUsd!)!);
      const { steps } = await show.show("x");
      const made = steps.filter(({ path }) => quote.prices.some(({ step }) => step === path));
      // A second take is only made where the first one fails.
      for (const { status } of made) expect(status).toMatch(/succeeded|skipped/);
      await show.close();
    }),
    { numRuns: isFull ? 300 : 3 },
  );
});

test("nothing that was not agreed to is bought, however plans and prices move between quote and start [G21]", async () => {
  const price = fc.integer({ min: 1, max: 9 }).map((cents) => cents * 10_000);
  const steps = fc.array(
    fc.record({
      model: fc.constantFrom("image-1", "speech-1", "upscale-1"),
      maxCost: fc.option(fc.integer({ min: 9, max: 12 }), { nil: null }),
    }),
    { minLength: 1, maxLength: 4 },
  );
  const moved = fc.dictionary(fc.constantFrom("image-1", "speech-1", "upscale-1", "video-1"), price);
  const life = fc.record({
    before: moved,
    steps,
    after: moved,
    other: fc.option(steps, { nil: null }),
    waitMs: fc.constantFrom(0, 10_000, 60_000, 10 * 60_000, DAY_MS),
  });
  type Steps = typeof steps extends fc.Arbitrary<infer T> ? T : never;
  const random = (planned: Steps) =>
    pipelineOf("random", ({ job }) => {
      const film = job("film", models.video, boat, { keep: false });
      for (const [n, { model, maxCost }] of planned.entries()) {
        const options = { keep: false, ...(maxCost !== null && { maxCost: `0.${String(maxCost).padStart(2, "0")}` }) };
        if (model === "image-1") job(`s${n}`, models.image, { prompt: `${n}` }, options);
        else if (model === "speech-1") job(`s${n}`, models.speech, { text: `${n}`, voice_id: "voice_stock" }, options);
        else job(`s${n}`, models.upscale, { source_video: film }, options);
      }
      return { film };
    });
  await fc.assert(
    fc.asyncProperty(life, async ({ before, steps: planned, after, other, waitMs }) => {
      const { show, clock, prices, paidService } = await world({ ...before });
      const quote = await show.quote(random(planned), {});
      fc.pre(quote.ok);
      await clock.advance(waitMs);
      // Prices that were asked for just now are believed for half a minute.
      if (waitMs > 30_000) Object.assign(prices, after);
      const started = random(other ?? planned);
      const outcome = await during(
        clock,
        show.run(started, {}, { quote: quote.id!, id: "x" }).catch((error: unknown) => error as Error),
      );
      const isSame = other === null || JSON.stringify(other) === JSON.stringify(planned);
      if (outcome instanceof Error) {
        expect(paidService.jobs.size).toBe(0);
      } else {
        expect(isSame).toBe(true);
        await during(clock, outcome.result());
      }
      const maximum = parseUsd(quote.maximumUsd!)!;
      expect(paidService.chargedMicros, formatUsd(maximum)).toBeLessThanOrEqual(maximum);
      await show.close();
    }),
    { numRuns: Number(process.env.SHOWRUNNER_TEST_RUNS ?? 25) },
  );
});
