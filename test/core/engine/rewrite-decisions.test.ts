import { rm } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { StepMethods } from "../../../src/core/define/index.ts";
import { loadRun } from "../../../src/core/journal/run-repository.ts";
import type { StepState } from "../../../src/core/journal/state.ts";
import { createMemoryJournal, type RunResult, type Showrunner } from "../../../src/index.ts";
import { CrashInjector } from "../../../src/testing/crash-injector.ts";
import { inProcess } from "../../support/crash-process.ts";
import { apiError, FakePaidService, models, pipelineOf } from "../../support/engine.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const NEVER = Number.POSITIVE_INFINITY;
const BUDGET = { usd: "1.20", micros: 1_200_000 };
const CHAT_MICROS = 10_000;
const folder = newFolder();

/** Whom moderation refuses: nobody, the first prompt at its submit or by the job, or the milder one as well. */
const part = fc.record({
  first: fc.constantFrom("made", "refused", "ended"),
  milder: fc.constantFrom("made", "made", "refused"),
});
type Part = { readonly first: string; readonly milder: string };
/** What a person does next, in a process that dies at the given moment, if it gets there. */
const act = fc.record({
  is: fc.constantFrom("pick", "redo", "rerun", "resume"),
  diesAt: fc.oneof({ weight: 2, arbitrary: fc.constant(NEVER) }, fc.integer({ min: 1, max: 60 })),
});

const promptOf = (input: unknown) => (input as { readonly prompt: string }).prompt;

function comparing(parts: readonly Part[]) {
  return pipelineOf("look", ({ compare }) => {
    const rewrite = { model: "chat-1", maxCost: "0.02" };
    const built = parts.map((_, index) => {
      const input = { prompt: `harsh ${index}` };
      const build = (b: StepMethods) => b.job("made", models.image, input, { onModerated: "rewrite", rewrite });
      return [`part-${index}`, build] as const;
    });
    return { look: compare("look", Object.fromEntries(built)) };
  });
}

/** Refused by itself: there is nothing of that kind to do just now. */
const REFUSALS = new Set(["INVALID_OPTION", "OVER_BUDGET"]);

test("whatever is decided of compared parts that may be rewritten, and whenever a process dies, nothing is sent twice", async () => {
  const seen = { deaths: 0, chats: 0, again: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { minLength: 2, maxLength: 3 }),
      fc.integer({ min: 1, max: 120 }),
      fc.array(act, { maxLength: 4 }),
      async (parts, diesAt, acts) => {
        const of = comparing(parts);
        const fateOf = (prompt: string) => {
          const [word, index] = prompt.split(" ");
          const { first, milder } = parts[Number(index)]!;
          return word === "harsh" ? first : milder;
        };
        const paidService = new FakePaidService({
          refuses: (_, input) => (fateOf(promptOf(input)) === "refused" ? apiError(422, "MODERATION_FAILED") : null),
          fails: (_, body) =>
            fateOf(promptOf(JSON.parse(body))) === "ended" ? { code: "MODERATION_FAILED", retryable: false } : null,
          says: ({ messages }) => String(messages.at(-1)!.content).replace("harsh", "mild"),
          chatMicros: CHAT_MICROS,
        });
        const dir = join(folder, crypto.randomUUID());
        const world = { paidService, journal: createMemoryJournal(), dir };
        const live = async (at: number, work: (show: Showrunner) => Promise<RunResult>) => {
          const crashInjector = new CrashInjector(at);
          const result = await inProcess(world, crashInjector, work).catch((error: { readonly code?: string }) => {
            if (!REFUSALS.has(error.code ?? "")) throw error;
            return null;
          });
          seen.deaths += Number(crashInjector.count >= at);
          if ((await world.journal.run("x")) === null) return result;
          const { heldMicros, settledMicros } = await world.journal.ledger("x");
          expect(heldMicros + settledMicros).toBeLessThanOrEqual(BUDGET.micros);
          return result;
        };
        const begin = async (show: Showrunner) => {
          const exists = (await show.runs()).some(({ runId }) => runId === "x");
          const how = { id: "x", outDir: join(dir, "out"), budget: BUDGET.usd };
          return (await (exists ? show.resume("x", { pipeline: of }) : show.run(of, {}, how))).result();
        };
        await live(diesAt, begin);
        let last = await live(NEVER, begin);
        for (const { is, diesAt: at } of acts) {
          const said = async (show: Showrunner) => {
            if (is === "pick" && last?.pause?.reason === "approval") await show.approve("x", "look/pick", { pick: 0 });
            const how = is === "redo" ? await show.redo("x", "look/pick", "warmer", of) : {};
            const more = is === "rerun" ? { rerunFailed: true } : {};
            return (await show.resume("x", { pipeline: of, acceptChanges: true, ...how, ...more })).result();
          };
          await live(at, said);
          last = await live(NEVER, begin);
        }
        const state = await loadRun(world.journal, "x");
        const events = (await world.journal.read("x")).map(({ event }) => event);
        const keys = new Set(events.flatMap((event) => (event.type === "job.submit.intended" ? [event.key] : [])));
        const jobIds = events.flatMap((event) => (event.type === "job.submitted" ? [event.jobId] : []));
        expect(new Set(jobIds).size).toBe(jobIds.length);
        expect(paidService.jobs.size).toBeLessThanOrEqual(keys.size);
        expect([...paidService.jobs.keys()].toSorted()).toEqual(jobIds.toSorted());
        const chatsOf = ({ attempts }: StepState) => attempts.filter(({ kind }) => kind === "chat");
        for (const [path, step] of Object.entries(state.steps)) {
          const resets = events.filter((event) => event.type === "step.reset" && event.step === path).length;
          expect(chatsOf(step).length, path).toBeLessThanOrEqual(1 + resets);
        }
        const asked = Object.values(state.steps).reduce((sum, step) => sum + chatsOf(step).length, 0);
        expect(paidService.chats.size).toBeLessThanOrEqual(asked);
        seen.chats += paidService.chats.size;
        seen.again += Number(keys.size > parts.length * 2);
        // A refusal after a send that nobody answered proves nothing of that one: a person decides.
        const attempts = Object.values(state.steps).flatMap((step) => step.attempts);
        const unresolved = attempts.filter(({ phase }) => phase === "unresolved");
        expect(state.heldMicros).toBe(unresolved.reduce((sum, { holdMicros }) => sum + holdMicros, 0));
        await rm(dir, { recursive: true, force: true });
      },
    ),
    { numRuns: Number(process.env.SHOWRUNNER_TEST_RUNS ?? 5) },
  );
  expect(Math.min(seen.deaths, seen.chats, seen.again), JSON.stringify(seen)).toBeGreaterThan(0);
}, 120_000);
