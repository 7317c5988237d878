import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadRun } from "../../../src/core/journal/run-repository.ts";
import { planStep, type RunState } from "../../../src/core/journal/state.ts";
import type { JobStep } from "../../../src/core/plan/kinds/job.ts";
import type { RunHandle, Showrunner } from "../../../src/index.ts";
import {
  during,
  eventsOf,
  greyPng,
  MockProvider,
  models,
  openFakeShow,
  pipelineOf,
  unanswered,
} from "../../support/engine.ts";

/** A run that waits for a person in every way: two unanswered requests, a choice and an approval. `busy` keeps it driven. */
function waitingFor(provider: MockProvider, busy: Promise<string>) {
  return pipelineOf(
    "waiting",
    ({ approve, choose, generate, job, task }) => {
      const lost = job("lost", models.image, { prompt: "lost" }, { keep: false });
      const still = generate("still", provider.image(), { prompt: "a red boat" }, { maxCost: "0.05" });
      const looks = job("looks", models.image, { prompt: "looks", num_outputs: 2 });
      const best = choose("best", looks.outputs(), { by: "person" });
      const words = task("words", {}, () => "a quay");
      const film = job("film", models.image, { prompt: approve("ok", words), images: [best] });
      return { lost, still, film, last: task("last", {}, () => busy).value };
    },
    { onFailure: "continue" },
  );
}

type Way = "driven" | "stopped" | "in slices";

async function world(way: Way) {
  let isSilent = true;
  const changed: Parameters<typeof openFakeShow>[0] = {
    open: { idempotencyWindowMs: 1000 },
    client: ({ submit }) => ({
      // The service makes the job, and its answer gets lost.
      submit: async (request, options) => {
        const ack = await submit(request, options);
        if (!isSilent || (request.input as { prompt: string }).prompt !== "lost") return ack;
        throw unanswered(request.model, request.idempotencyKey);
      },
    }),
  };
  const base = await openFakeShow({ rendersMs: 0, ...changed });
  const { clock, journal, outDir, paidService, show } = base;
  const people = [show, (await openFakeShow({ ...base, ...changed })).show] as const;
  const { promise: busy, resolve: release } = Promise.withResolvers<string>();
  if (way !== "driven") release("done");
  const provider = new MockProvider("mock", [{ throws: new Error("socket hang up"), made: true }, "made"]);
  const code = waitingFor(provider, busy);
  const options = { id: "x", outDir, budget: "9" };
  const handles: RunHandle[] = [];
  const slices = () => base.drive({ findPipeline: async () => code });
  const events = () => eventsOf(base);
  if (way === "in slices") {
    await show.start(code, {}, options);
    await slices();
  } else {
    const handle = await during(clock, show.run(code, {}, options));
    handles.push(handle);
    if (way === "stopped") await during(clock, handle.result());
    else handle.result().catch(() => {});
    const waits = async () => (await show.show("x")).steps.map(({ status }) => status);
    const all = ["unresolved", "unresolved", "awaiting-approval", "awaiting-approval"];
    await during(clock, expect.poll(waits, { timeout: 20_000 }).toEqual(expect.arrayContaining(all)));
  }
  const file = join(outDir, "given.png");
  await mkdir(outDir, { recursive: true });
  await writeFile(file, greyPng(32));
  const [job] = [...paidService.jobs.values()].filter(({ body }) => body.includes('"lost"'));
  isSilent = false;
  const resume = async (who: Showrunner, how: object = {}) => {
    const handle = await who.resume("x", { pipeline: code, compare: false, ...how });
    if (who === show) handles.push(handle);
    return handle;
  };
  /** Lets the run go on until it is at rest. */
  const goOn = async () => {
    release("done");
    if (way === "in slices") await slices();
    else if (way === "stopped") await during(clock, resumed());
    else await during(clock, Promise.all(handles.map((one) => one.result())));
  };
  const resumed = async (how: object = {}) => (await resume(show, how)).result();
  const state = () => loadRun(journal, "x");
  return { ...base, people, provider, code, file, jobId: job!.jobId, resume, resumed, goOn, state, events };
}

const attemptOf = (state: RunState, step: string) => state.steps[step]!.attempts.at(-1)!;

describe("What became of an unanswered request, said twice", () => {
  test("the job counts that was named last, whatever was said before it was applied", async () => {
    const life = await world("stopped");
    await life.show.adopt("x", "lost", null);
    await life.show.adopt("x", "lost", life.jobId);
    await life.goOn();
    expect(attemptOf(await life.state(), "lost")).toMatchObject({ jobId: life.jobId, phase: "completed" });
  });

  test("the file counts that was given last: what the provider billed stays held until then", async () => {
    const life = await world("stopped");
    await life.show.adopt("x", "still", null);
    await life.show.adopt("x", "still", life.file);
    await life.goOn();
    expect(attemptOf(await life.state(), "still")).toMatchObject({ phase: "completed", money: "settled" });
  });
});

describe("What was recorded is applied before a run is changed", () => {
  const changes = [
    ["rerun", () => ({ rerun: ["lost"] })],
    ["rerunFailed", () => ({ rerunFailed: true })],
    ["edit", () => ({ acceptChanges: true, edit: { lost: { prompt: "found" } } })],
  ] as const;
  test.each(changes)("%s after a request was declared lost sends it anew", async (_, how) => {
    const life = await world("stopped");
    await life.show.adopt("x", "lost", null);
    const before = life.paidService.jobs.size;
    if ("rerun" in how()) expect((await life.show.rerunQuote("x", ["lost"])).stale).toEqual(["lost"]);
    await during(life.clock, life.resumed(how()));
    expect(life.paidService.jobs.size).toBe(before + 1);
    const { attempts } = (await life.state()).steps["lost"]!;
    expect(attempts.map(({ phase }) => phase)).toEqual(["lost", "completed"]);
  });

  test("a job that was named is collected before its step is made again", async () => {
    const life = await world("stopped");
    await life.show.adopt("x", "lost", life.jobId);
    await during(life.clock, life.resumed({ acceptChanges: true, edit: { lost: { prompt: "found" } } }));
    const { attempts } = (await life.state()).steps["lost"]!;
    const settled = { phase: "completed", money: "settled" };
    expect(attempts).toMatchObject([settled, settled]);
  });
});

interface Speech {
  readonly who: Showrunner;
  readonly note: string;
  readonly life: Awaited<ReturnType<typeof world>>;
}

/** Everything that people may say of a run, besides what they say with `resume`. */
const WORDS = {
  "pick 1": ({ who, note }: Speech) => who.approve("x", "best", { pick: 0, note }),
  "pick 2": ({ who, note }: Speech) => who.approve("x", "best", { pick: 1, note }),
  "reject best": ({ who, note }: Speech) => who.reject("x", "best", { note }),
  "comment on best": ({ who, note }: Speech) => who.comment("x", "best", { text: note }),
  "approve ok": ({ who, note }: Speech) => who.approve("x", "ok", { note }),
  "change ok": ({ who, note }: Speech) => who.approve("x", "ok", { note, value: "a pier" }),
  "reject ok": ({ who, note }: Speech) => who.reject("x", "ok", { note }),
  "lost made nothing": ({ who }: Speech) => who.adopt("x", "lost", null),
  "lost made its job": ({ who, life }: Speech) => who.adopt("x", "lost", life.jobId),
  "still made nothing": ({ who }: Speech) => who.adopt("x", "still", null),
  "still made a file": ({ who, life }: Speech) => who.adopt("x", "still", life.file),
  stop: ({ who }: Speech) => who.stop("x"),
};
/** What is said with `resume`, which drives a run that nobody drives. */
const RESUMES = {
  resume: {},
  "budget 7": { budget: "7" },
  "budget 8": { budget: "8" },
  "edit film": { acceptChanges: true, edit: { film: { num_outputs: 1 } } },
  "edit film again": { acceptChanges: true, edit: { film: { aspect_ratio: "16:9" } } },
  "rerun looks": { rerun: ["looks"] },
};
type Word = keyof typeof WORDS | keyof typeof RESUMES;

interface Said {
  readonly word: Word;
  /** Who said it: 0 drives the run, where anybody does. */
  readonly by: 0 | 1;
  /** Whoever drives the run takes in what was said before the next word is. */
  readonly isHeard: boolean;
}

const about = (word: Word) => word.split(" ").find((part) => ["best", "1", "2", "ok", "lost", "still"].includes(part));
const subjectOf = (word: Word) => {
  const found = about(word);
  return found === "1" || found === "2" ? "best" : (found ?? (word.startsWith("budget") ? "budget" : word));
};

async function hold(way: Way, words: readonly Said[]): Promise<void> {
  const life = await world(way);
  const { clock, people } = life;
  const accepted: (Said & { readonly note: string })[] = [];
  for (const [nth, said] of words.entries()) {
    const { word, by } = said;
    const who = people[by];
    const note = `word ${nth}`;
    const speak = async () => {
      if (word in WORDS) return void (await WORDS[word as keyof typeof WORDS]({ who, note, life }));
      const handle = await life.resume(who, RESUMES[word as keyof typeof RESUMES]);
      // Of a run that is driven it is told once that drive is at rest.
      if (way !== "driven" || by === 1) await handle.result();
      else handle.result().catch(() => {});
    };
    const refusal = await during(clock, speak()).then(
      () => null,
      (error: { readonly code?: string; readonly message: string }) => error,
    );
    if (refusal === null) accepted.push({ ...said, note });
    else expect(["INVALID_OPTION", "RUN_BUSY"], refusal.message).toContain(refusal.code);
    if (said.isHeard && way === "driven") await clock.advance(3_000);
  }
  await life.goOn();
  if (way === "driven") {
    const { pause } = await life.state();
    const holds = accepted.findLast(({ word }) => word === "stop" || word in RESUMES)?.word === "stop";
    expect(pause?.reason === "stopped", accepted.map(({ word }) => word).join(", ")).toBe(holds);
  }
  if (way !== "stopped") await during(clock, life.resumed());
  await counted(life, accepted);
}

/** Each word that was accepted counts, was replaced by a later one, or is refused in the journal with why. */
async function counted(
  life: Awaited<ReturnType<typeof world>>,
  accepted: readonly (Said & { readonly note: string })[],
) {
  const events = await life.events();
  const state = await life.state();
  const film = () => (planStep(state, "film") as JobStep).input as { num_outputs?: number; aspect_ratio?: string };
  const isCounted = (word: Word, subject: string, note: string): boolean => {
    if (word === "comment on best")
      return events.some((one) => one.type === "comment.added" && one.comment.text === note);
    if (subject === "best" || subject === "ok")
      return events.some((one) => one.type === "approval.decided" && one.note === note);
    if (word === "lost made its job") return attemptOf(state, "lost").jobId === life.jobId;
    if (word.endsWith("made nothing")) return attemptOf(state, subject).phase === "lost";
    if (word === "still made a file") return attemptOf(state, "still").phase === "completed";
    if (subject === "budget") return state.budgetMicros === Number(word.slice(7)) * 1_000_000;
    if (word === "edit film") return film().num_outputs === 1;
    if (word === "edit film again") return film().aspect_ratio === "16:9";
    return word !== "rerun looks" || state.reruns.some(({ steps }) => steps.join() === "looks");
  };
  expect(await life.journal.inbox("x")).toEqual([]);
  for (const [nth, { word, note }] of accepted.entries()) {
    const subject = subjectOf(word);
    const isReplaced = accepted.slice(nth + 1).some((later) => subjectOf(later.word) === subject);
    const isRefused = events.some((one) => one.type === "message.refused" && one.step === subject);
    const what = `${word} of ${accepted.map((one) => one.word).join(", ")}`;
    expect(isReplaced || isRefused || isCounted(word, subject, note), what).toBe(true);
  }
}

const word = fc.constantFrom(...(Object.keys({ ...WORDS, ...RESUMES }) as Word[]));
const said = fc.record({ word, by: fc.constantFrom<0 | 1>(0, 1), isHeard: fc.boolean() });
const pair = (...words: readonly Word[]) => words.map((one) => ({ word: one, by: 0 as const, isHeard: false }));

test("Of whatever people say of a run, twice and in any order, each word counts, is replaced by a later one, or is refused with why [G36]", async () => {
  const way = fc.constantFrom<Way>("driven", "stopped", "in slices");
  await fc.assert(fc.asyncProperty(way, fc.array(said, { minLength: 2, maxLength: 2 }), hold), {
    numRuns: Number(process.env["SHOWRUNNER_TEST_RUNS"] ?? 10),
    examples: [
      ["stopped", pair("lost made nothing", "lost made its job")],
      ["in slices", pair("still made nothing", "still made a file")],
      ["driven", pair("stop", "resume")],
      ["driven", pair("edit film", "stop")],
      ["driven", pair("budget 7", "budget 8")],
      ["driven", pair("comment on best", "rerun looks")],
      ["stopped", pair("pick 1", "rerun looks")],
    ],
  });
}, 120_000);
