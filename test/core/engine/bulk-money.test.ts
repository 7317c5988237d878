import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { formatUsd } from "../../../src/core/kit/money.ts";
import { createMemoryJournal, pipeline, quoteEach, runEach, type Showrunner } from "../../../src/index.ts";
import { CrashInjector } from "../../../src/testing/crash-injector.ts";
import { type CrashWorld, openProcess, untilEndOrDeath } from "../../support/crash-process.ts";
import { builtInCatalog, during, FakePaidService, models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { isFull } from "../../support/sample.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";
import { newFolder } from "../../support/temporary-folder.ts";

/** Prices of speech and film are known once there is a text, and a sound. */
const spoken = pipeline("spoken", {
  input: z.object({ n: z.number() }),
  build({ input, chat, job }) {
    const text = chat("text", "chat-1", { prompt: `line ${input.n}` }, { maxCost: "0.01" });
    const voice = job("voice", models.speech, { text, voice_id: "voice_stock" }, { keep: false });
    const face = job("face", models.image, { prompt: `face ${input.n}` }, { keep: false });
    const look = { prompt: "speaks", aspect_ratio: "1:1", resolution: "720p" } as const;
    return { film: job("film", models.avatar, { start_image: face, audio: voice, ...look }, { keep: false }) };
  },
});

interface Batch {
  readonly rows: number;
  readonly atOnce: number;
  /** Cents a character, and a second. */
  readonly speech: number;
  readonly film: number;
  readonly texts: readonly number[];
  /** How much of what is advised each next command gets. */
  readonly raises: readonly number[];
}

const batch: fc.Arbitrary<Batch> = fc.record({
  rows: fc.integer({ min: 1, max: 5 }),
  atOnce: fc.integer({ min: 1, max: 3 }),
  speech: fc.integer({ min: 1, max: 300 }),
  film: fc.integer({ min: 1, max: 200_000 }),
  texts: fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 5, maxLength: 5 }),
  raises: fc.array(fc.double({ min: 0.05, max: 1, noNaN: true }), { maxLength: 3 }),
});

const SAMPLE: Batch = { rows: 1, atOnce: 1, speech: 1, film: 1, texts: [10, 10, 10, 10, 10], raises: [] };

function paperService({ speech, film, texts }: Batch): FakePaidService {
  let said = 0;
  const paidService: FakePaidService = new FakePaidService({
    catalog: builtInCatalog(),
    says: () => "x".repeat(texts[said++ % texts.length]!),
    chatMicros: 4_000,
    priceMicros: (model, input) => {
      const { text, audio } = input as { text?: string; audio?: { url?: string; asset_id?: string } };
      if (model === "speech-1") return text!.length * speech;
      if (model !== "avatar-1") return 50_000;
      const bytes = (paidService.uploads.get(audio?.url ?? "")?.length ?? 0) / 2;
      const ms = audio?.url === undefined ? 2000 + ((texts[0]! * 7919) % 118_000) : (bytes - 44) / 16;
      return Math.ceil(ms / 1000) * film;
    },
  });
  return paidService;
}

const rowsOf = (count: number) => Array.from({ length: count }, (_, n) => ({ id: `row-${n}`, input: { n } }));

/** The quote of rows without problems. */
async function quoted(show: Showrunner, rows: ReturnType<typeof rowsOf>) {
  const quote = await quoteEach(show, spoken, rows);
  if (!quote.ok) throw new Error(JSON.stringify(quote.problems));
  return quote;
}

const open = (given: Batch) => openFakeShow({ paidService: paperService(given) });

const chargedBy = ({ chargedMicros, chatChargedMicros }: FakePaidService) => chargedMicros + chatChargedMicros;

test("a run whose budget is what its quote says at most never pauses, whatever comes", async () => {
  await fc.assert(
    fc.asyncProperty(batch, async (given) => {
      const { show, clock, paidService, outDir, run } = await open(given);
      const quote = await show.quote(spoken, { n: 0 });
      const { min, max } = quote.totalMicros;
      expect(max).not.toBeNull();
      expect(min <= quote.expectedMicros && quote.expectedMicros <= max!).toBe(true);
      const { status, report } = await run(spoken, { n: 0 }, { budget: formatUsd(max!) });
      expect([status, report.message]).toEqual(["succeeded", null]);
      expect(chargedBy(paidService)).toBeLessThanOrEqual(max!);
      const rows = rowsOf(given.rows);
      const batchQuote = await during(clock, quoted(show, rows));
      const budget = formatUsd(batchQuote.rows.reduce((sum, { maxMicros }) => sum + maxMicros!, 0));
      const options = { budget, atOnce: given.atOnce, outDir };
      const outcomes = await during(clock, runEach(show, spoken, batchQuote, options));
      expect(outcomes.filter((one) => one.status !== "succeeded")).toEqual([]);
      await show.close();
    }),
    { numRuns: isFull ? 200 : 3 },
  );
}, 3_600_000);

test("the wallet is read once for all rows that are priced and started together, and again when it seems too small", async () => {
  const { show, clock, paidService, outDir } = await open(SAMPLE);
  const rows = rowsOf(20);
  const quote = await during(clock, quoted(show, rows));
  expect(paidService.balanceReads).toBe(1);
  const [first, ...others] = quote.rows;
  const start = (row: typeof first) => show.start(spoken, row!.row.input as { n: number }, { id: row!.row.id, outDir });
  paidService.balanceMicros = 1;
  await expect(during(clock, start(first))).resolves.toMatchObject({ id: "row-0" });
  await during(clock, Promise.all(others.map(start)));
  expect(paidService.balanceReads).toBe(1);
  await clock.advance(10_000);
  const late = () => show.start(spoken, { n: 99 }, { id: "late", outDir });
  await expect(during(clock, late())).rejects.toMatchObject({ code: "WALLET_SHORT" });
  paidService.balanceMicros = 1_000_000_000;
  await expect(during(clock, late())).resolves.toMatchObject({ id: "late" });
  expect(paidService.balanceReads).toBe(3);
  await show.close();
});

test("what nothing bounds is open-ended by name, unless its maximum is set; what is said to be short costs less", async () => {
  const { show } = await open({ ...SAMPLE, film: 80_000 });
  const quoted = async (length: { expect?: { durationMs: number } }, most: { maxCost?: string }) => {
    const made = pipelineOf("made", ({ chat, job }) => {
      const text = chat("text", "chat-1", { prompt: "a line" }, { maxCost: "0.01" });
      const voice = job("voice", models.speech, { text, voice_id: "voice_stock" }, length);
      const look = { prompt: "speaks", aspect_ratio: "1:1", resolution: "720p" } as const;
      const face = job("face", models.image, { prompt: "a face" });
      const film = job("film", models.avatar, { start_image: face, audio: voice, ...look });
      return { large: job("large", models.upscale, { source_video: film }, most) };
    });
    return show.quote(made, {});
  };
  const unbounded = await quoted({}, {});
  expect(unbounded.totalMicros.max).toBeNull();
  expect(unbounded.prices.filter(({ mostMicros }) => mostMicros === null).map(({ step }) => step)).toEqual(["large"]);
  const filmOf = (quote: typeof unbounded) => quote.prices.find(({ step }) => step === "film")!.mostMicros;
  expect(filmOf(unbounded)).toBe(120 * 80_000);
  const closed = await quoted({ expect: { durationMs: 10_000 } }, { maxCost: "0.50" });
  expect(filmOf(closed)).toBe(11 * 80_000);
  expect(closed.totalMicros.max).toBe(10_000 + 5000 + 50_000 + 11 * 80_000 + 500_000);
  await show.close();
});

interface Lives {
  readonly world: CrashWorld;
  readonly clock: SimulatedClock;
  /** At which commit or request each process dies; those after them live. */
  readonly deaths: number[];
}

/** One command, typed again after each death of its process; null for the budget: only priced. */
async function typed({ rows: count, atOnce }: Batch, { world, clock, deaths }: Lives, pot: number | null) {
  const rows = rowsOf(count);
  const before = chargedBy(world.paidService);
  for (;;) {
    const crashInjector = new CrashInjector(deaths.shift() ?? Number.POSITIVE_INFINITY);
    const opening = openProcess(world, crashInjector.clock(clock), crashInjector);
    const work = opening.then(async (show) => {
      const quote = await quoted(show, rows);
      const outDir = join(world.dir, "out");
      const outcomes =
        pot === null ? [] : await runEach(show, spoken, quote, { budget: formatUsd(pot), atOnce, outDir });
      const max = quote.rows.reduce((sum, { maxMicros }) => sum + maxMicros!, 0);
      return { outcomes, max, expected: quote.expectedMicros };
    });
    const ended = await untilEndOrDeath(work, crashInjector, clock);
    expect(chargedBy(world.paidService)).toBeLessThanOrEqual(Math.max(pot ?? 0, before));
    if (ended !== null) return ended;
  }
}

test("random batches, whose processes die: none stuck, nothing paid twice, never above the budget, and what is advised helps [G25]", async () => {
  const deaths = fc.array(fc.integer({ min: 1, max: 250 }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(batch, deaths, fc.boolean(), async (given, dying, isEnough) => {
      const dir = newFolder();
      const clock = new SimulatedClock();
      const journal = createMemoryJournal({ now: () => clock.now() });
      const lives: Lives = { world: { paidService: paperService(given), journal, dir }, clock, deaths: [] };
      const { max, expected } = await typed(given, lives, null);
      // A chat whose answer a death took is asked again: its most is put aside.
      const lost = dying.length * given.atOnce * 10_000;
      lives.deaths.push(...dying);
      if (isEnough) {
        const { outcomes } = await typed(given, lives, max + lost);
        expect(outcomes.filter(({ status }) => status !== "succeeded")).toEqual([]);
      } else {
        let advised = expected;
        for (let tries = 0; ; tries++) {
          expect(tries).toBeLessThan(20);
          const share = given.raises[tries] ?? 1;
          const { outcomes } = await typed(given, lives, Math.round(advised * share));
          const left = outcomes.filter(({ status }) => status !== "succeeded");
          expect(left.filter(({ status }) => status !== "paused" && status !== "waiting")).toEqual([]);
          if (left.length === 0) break;
          advised = outcomes.reduce((sum, { projectedMicros }) => sum + projectedMicros, 0);
        }
      }
      expect(lives.world.paidService.jobs.size).toBe(3 * given.rows);
    }),
    { numRuns: isFull ? 1000 : 3 },
  );
}, 3_600_000);

test("a row that was run alone before leaves the others what is left of the budget, whatever they come to", async () => {
  const { show, clock, paidService, outDir, run } = await open({ ...SAMPLE, film: 91, texts: [1628, 3587, 1, 1, 1] });
  const rows = rowsOf(2);
  expect(await run(spoken, rows[1]!.input, { id: "row-1", outDir })).toMatchObject({ status: "succeeded" });
  const quote = await during(clock, quoted(show, rows));
  const budget = formatUsd(quote.expectedMicros);
  const outcomes = await during(clock, runEach(show, spoken, quote, { budget, outDir }));
  expect(outcomes.map(({ status }) => status)).toEqual(["paused", "succeeded"]);
  expect(chargedBy(paidService)).toBeLessThanOrEqual(quote.expectedMicros);
});

test("rows of other batches, and those of none, draw on the one budget too [G25]", async () => {
  const five = { minLength: 5, maxLength: 5 };
  /** How each row was begun before. */
  const begun = fc.array(fc.constantFrom("alone", "a batch", "not at all"), five);
  const shares = fc.array(fc.double({ min: 0.3, max: 1, noNaN: true }), five);
  await fc.assert(
    fc.asyncProperty(batch, begun, shares, async (given, how, shares) => {
      const world = await open(given);
      const { show, clock, paidService, outDir } = world;
      const all = rowsOf(given.rows);
      const quotedNow = (rows: typeof all) => during(clock, quoted(show, rows));
      const optionsOf = (micros: number) => ({ budget: formatUsd(micros), atOnce: given.atOnce, outDir });
      for (const [n, row] of all.entries()) {
        if (how[n] === "not at all") continue;
        const quote = await quotedNow([row]);
        const options = { budget: formatUsd(quote.expectedMicros), outDir };
        if (how[n] === "alone") await world.run(spoken, row.input, { id: row.id, ...options });
        else await during(clock, runEach(show, spoken, quote, options));
      }
      for (let tries = 0; tries < 5; tries++) {
        const quote = await quotedNow(all);
        const before = chargedBy(paidService);
        const pot = Math.round(quote.expectedMicros * shares[tries]!);
        await during(clock, runEach(show, spoken, quote, optionsOf(pot)));
        expect(chargedBy(paidService)).toBeLessThanOrEqual(Math.max(pot, before));
      }
      const quote = await quotedNow(all);
      for (let tries = 0, budgetMicros = quote.expectedMicros; ; tries++) {
        expect(tries).toBeLessThan(20);
        const before = chargedBy(paidService);
        const outcomes = await during(clock, runEach(show, spoken, await quotedNow(all), optionsOf(budgetMicros)));
        expect(chargedBy(paidService)).toBeLessThanOrEqual(Math.max(budgetMicros, before));
        if (outcomes.every(({ status }) => status === "succeeded")) break;
        budgetMicros = outcomes.reduce((sum, { projectedMicros }) => sum + projectedMicros, 0);
      }
      await show.close();
    }),
    { numRuns: isFull ? 1000 : 3 },
  );
}, 3_600_000);
