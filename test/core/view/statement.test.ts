import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { statementCsv, statementHtml, statementOf } from "../../../src/cli/commands/statement.ts";
import type { RunEvent } from "../../../src/core/journal/events.ts";
import { createMemoryJournal } from "../../../src/core/journal/open.ts";
import { ledgerChanges } from "../../../src/core/journal/record.ts";
import type { JournalStore } from "../../../src/core/journal/store.ts";
import { formatCents, invoiced, parseMarkup } from "../../../src/core/kit/invoice.ts";
import { isFull } from "../../support/sample.ts";
import { holder, nobodyIsDead, planned } from "../journal/samples.ts";
import * as sample from "../journal/support/folded.ts";
import { planOf } from "../run/support/plans.ts";

const YEAR = 2026;
const monthAt = (month: number) => ({ from: Date.UTC(YEAR, month), to: Date.UTC(YEAR, month + 1) });
const always = { from: 0, to: Number.MAX_SAFE_INTEGER };
const film = { ...sample.output(0), contentType: "video/mp4", durationMs: 4500 };

type Timed = readonly [at: number, event: object];

/** Writes a run as the engine does: the ledger follows from the events, in the same commit. */
async function write(journal: JournalStore, runId: string, tags: Record<string, string>, events: readonly Timed[]) {
  const [[began]] = events as readonly [Timed];
  await journal.createRun(runId, { ...planned(), plan: planOf(sample.steps), tags }, began);
  const taken = await journal.takeLease(runId, holder("a"), { at: began, ttlMs: 1e13, isDead: nobodyIsDead });
  if (!taken.acquired) throw new Error("the lease was not free");
  let afterSeq = taken.event.seq;
  for (const [at, one] of events) {
    const own = [one as RunEvent];
    const commit = { lease: taken.lease, afterSeq, at, events: own, ledger: ledgerChanges(own), status: "running" };
    expect(await journal.commit(commit)).toMatchObject({ committed: true });
    afterSeq += 1;
  }
}

const job = (step: string, hold: number, bills: readonly number[]) => [
  sample.quoted(step, hold),
  sample.begun(step),
  sample.intended(step, hold),
  sample.submitted(step),
  sample.completed(step, film),
  ...bills.map((bill) => sample.settled(step, bill)),
];
const ask = (attempt: number, holdMicros: number) => ({
  ...{ type: "chat.intended", ...sample.at("talk", attempt), model: "talk", input: {}, holdMicros },
});

const sum = (amounts: readonly number[]) => amounts.reduce((all, one) => all + one, 0);
const micros = fc.integer({ min: 0, max: 3_000_000 });
const run = fc
  .record({
    gaps: fc.array(fc.integer({ min: 0, max: 20 * 86_400_000 }), { minLength: 30, maxLength: 30 }),
    a: fc.tuple(micros, fc.array(micros, { maxLength: 3 })),
    b: fc.tuple(micros, fc.array(micros, { maxLength: 2 })),
    lost: micros,
    answered: micros,
    client: fc.constantFrom("acme", "globex"),
    team: fc.constantFrom("x", "y"),
  })
  .map(({ gaps, a, b, lost, answered, client, team }) => {
    const answer = { type: "chat.answered", ...sample.at("talk", 2), value: 1, costMicros: answered, jobId: null };
    const abandoned = { type: "chat.abandoned", ...sample.at("talk"), holdMicros: lost };
    const chat = [sample.begun("talk"), ask(1, lost), abandoned, ask(2, 50), answer];
    const events = [sample.started, ...job("a", ...a), ...chat, ...job("b", ...b)];
    return {
      tags: { client, team },
      events: events.map((event, n): Timed => [Date.UTC(YEAR, 0) + sum(gaps.slice(0, n)), event]),
    };
  });

describe("a statement", () => {
  test("has what the ledger has: over all months, and over all tags", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 3 }), async (runs) => {
        const journal = createMemoryJournal();
        for (const [n, { tags, events }] of runs.entries()) await write(journal, `r${n}`, tags, events);
        const of = (tags: Record<string, string>, period = always) =>
          statementOf(journal, { tags, period, markup: 0n });
        const parts = async (all: readonly ReturnType<typeof of>[]) => {
          const lines = (await Promise.all(all)).flatMap((one) => one.lines);
          const total = (section: string) =>
            sum(lines.filter((line) => line.section === section).map(({ costMicros }) => costMicros));
          return [total("charged"), total("unbilled"), total("disputed")] as const;
        };
        const whole = await parts([of({})]);
        const ledgers = await Promise.all(runs.map((_, n) => journal.ledger(`r${n}`)));
        expect(whole[0] + whole[2]).toBe(sum(ledgers.map(({ settledMicros }) => settledMicros)));
        expect(whole[1]).toBe(sum(ledgers.map(({ heldMicros }) => heldMicros)));
        const months = Array.from({ length: 30 }, (_, month) => of({}, monthAt(month)));
        expect(await parts(months)).toEqual(whole);
        const clients = ["acme", "globex"].flatMap((client) => ["x", "y"].map((team) => of({ client, team })));
        expect(await parts(clients)).toEqual(whole);
        await journal.close();
      }),
      { numRuns: isFull ? 100 : 8 },
    );
  });

  test("counts a charge by its instant, a correction where it came, and says what was made where it was billed", async () => {
    const journal = createMemoryJournal();
    const edge = Date.UTC(YEAR, 1);
    const events = job("a", 100, [90, 70]).map((event, n): Timed => [n < 6 ? edge - 1 : edge, event]);
    await write(journal, "r", { client: "acme" }, [[edge - 1, sample.started], ...events]);
    const of = async (month: number) =>
      (await statementOf(journal, { tags: { client: "acme" }, period: monthAt(month), markup: 0n })).lines;
    expect(await of(0)).toMatchObject([{ run: "r", costMicros: 90, text: "1 video (4.5 s)" }]);
    expect(await of(1)).toMatchObject([{ run: "r", costMicros: -20, text: "a corrected bill, or no result" }]);
    await journal.close();
  });
});

describe("amounts", () => {
  test("add up to a total that is the exact sum, rounded once, whatever the markup", () => {
    const cost = fc.integer({ min: -5_000_000, max: 2_000_000_000 });
    fc.assert(
      fc.property(fc.array(cost, { maxLength: 40 }), fc.bigInt(0n, 10_000_000n), (costs, markup) => {
        const { lines, total } = invoiced(costs, markup);
        expect(lines.reduce((all, one) => all + one, 0n)).toBe(total);
        const unit = 10_000n * 1_000_000n;
        const exact = costs.map((one) => BigInt(one) * (1_000_000n + markup));
        const error = total * unit - exact.reduce((all, one) => all + one, 0n);
        expect(2n * error <= unit && 2n * error > -unit).toBe(true);
        for (const [n, line] of lines.entries()) {
          const off = line * unit - exact[n]!;
          expect(off < unit && off > -unit).toBe(true);
        }
      }),
    );
  });

  test("have two decimals, and a markup is read exactly or not at all", () => {
    expect([5n, -5n, 12345n].map(formatCents)).toEqual(["0.05", "-0.05", "123.45"]);
    expect(["20%", "12.5", "0.0001 %", "1000%"].map(parseMarkup)).toEqual([200_000n, 125_000n, 1n, 10_000_000n]);
    expect(["", "-5%", "1e3", "1000.0001%", "0.00001%", "a"].map(parseMarkup)).toEqual(Array(6).fill(null));
  });
});

test("no cell of the CSV is a formula, no text of the page is markup, and the page tells no cost", () => {
  const names = ["=1+1", "+1", "-1", "@x", "\t=1", " =1", '<img src=x onerror="x">'];
  const line = { section: "charged", pipeline: "p", text: "1 image", step: null, costMicros: 123_457, amount: "0.15" };
  const lines = names.map((name) => ({ ...line, section: "charged" as const, run: name, title: name }));
  const made = { lines, costMicros: 864_199, amount: "1.05" };
  const rows = statementCsv(made).split("\n").slice(1);
  for (const [n, row] of rows.slice(0, 6).entries()) expect(row).toContain(`,"'${names[n]}",`);
  const page = statementHtml(made, { title: "<b>", subtitle: "a & b" });
  expect(page).not.toMatch(/<img|<b>|<script|0\.12345/);
  expect(page).toContain("$1.05");
});
