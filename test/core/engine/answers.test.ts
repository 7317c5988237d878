import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type Answer,
  answers,
  answerTable,
  type RequestKind,
  type SentBefore,
  verdictOf,
  verdicts,
} from "../../../src/core/answers.ts";
import { fold } from "../../../src/core/journal/events.ts";
import type { Pipeline } from "../../../src/index.ts";
import { LATE_MODEL, PRICE_MICROS } from "../../support/answering-service.ts";
import { openAnswering } from "../../support/answering-show.ts";
import { PIXEL, pipelineOf, sampled } from "../../support/engine.ts";

const alone = pipelineOf("alone", ({ job }) => ({ a: job("a", "image-1", { prompt: "a" }) }));
const uncopied = pipelineOf("uncopied", ({ job }) => ({ a: job("a", "image-1", { prompt: "a" }, { keep: false }) }));
const pair = pipelineOf("pair", ({ job, task }) => {
  const first = job("first", "image-1", { prompt: "first" });
  // Waits for the copy, so that an asset that is gone can go back as an upload.
  const prompt = task("words", { first }, () => "a").value;
  return { a: job("a", "image-1", { prompt, images: [first] }) };
});
const given = pipelineOf("given", ({ job, upload }) => ({
  a: job("a", "image-1", { prompt: "a", images: [upload("given", { bytes: PIXEL, kind: "image" })] }),
}));
const asking = pipelineOf("asking", ({ chat }) => ({
  a: chat("a", "chat-1", { prompt: "say something" }, { maxCost: "0.01" }),
}));
const growing = pipelineOf("growing", ({ task, expand }) => {
  const count = task("count", {}, () => 1);
  return {
    all: expand("a", count.value, (_, words) => [words.job("one", LATE_MODEL, { prompt: "one" })], {
      maxSteps: 2,
      yields: "image",
    }),
  };
});

interface Scenario {
  readonly pipeline: Pipeline;
  /** Reserved for what is under way while the request is answered. */
  readonly heldMicros: number;
  /** Paid jobs in the end. */
  readonly jobs: number;
}

/** A run that sends each kind of request after it began. */
const scenarios: { readonly [K in RequestKind]: Scenario } = {
  submit: { pipeline: alone, heldMicros: PRICE_MICROS, jobs: 1 },
  upload: { pipeline: given, heldMicros: PRICE_MICROS, jobs: 1 },
  chat: { pipeline: asking, heldMicros: 10_000, jobs: 0 },
  estimate: { pipeline: pair, heldMicros: 0, jobs: 2 },
  catalog: { pipeline: growing, heldMicros: 0, jobs: 1 },
  balance: { pipeline: alone, heldMicros: 0, jobs: 1 },
  follow: { pipeline: alone, heldMicros: PRICE_MICROS, jobs: 1 },
  settle: { pipeline: alone, heldMicros: PRICE_MICROS, jobs: 1 },
  reuse: { pipeline: uncopied, heldMicros: 0, jobs: 1 },
  download: { pipeline: alone, heldMicros: 0, jobs: 1 },
};

interface Cell {
  readonly kind: RequestKind;
  readonly before: SentBefore;
  readonly answer: Answer;
}

const columns = (Object.keys(scenarios) as RequestKind[]).flatMap((kind) =>
  (Object.keys(answerTable[kind]) as SentBefore[]).map((before) => ({ kind, before })),
);

async function open({ kind, before, answer }: Cell) {
  const world = await openAnswering(kind === "balance" ? { walletFloor: "0.01" } : {}, {
    timeoutMs: answer === "timeout" ? 250 : 20_000,
  });
  const { service, show, home } = world;
  if (kind === "reuse") await (await show.run(uncopied, {}, { id: "y", outDir: join(home, "y") })).result();
  const { meaning } = verdicts[verdictOf(kind, answer, before)];
  const { source } = answers[answer];
  service.fault = {
    ...{ kind, answer },
    // A definite word is believed, so that it may only be said of what was not done; anything else may come after.
    afterWork: before === "first send" && (meaning === "unknown" || meaning === "not the service's"),
    ...(verdictOf(kind, answer, before) === "media renewed" && { times: 1 }),
  };
  service.losesAcks = before === "re-send";
  service.billsLate = kind === "settle";
  service.mediaLapses = kind === "download" && (source === "with envelope" || answer === "2xx other");
  const mend = () => {
    Object.assign(service, { fault: null, losesAcks: false, mediaLapses: false });
  };
  return { ...world, mend };
}

/** Drives a run into the answer, looks, then lets the service answer rightly and goes on to the end. */
async function walk(cell: Cell) {
  const { kind, answer } = cell;
  const { service, show, journal, mend, client, run, resume } = await open(cell);
  const made = kind === "submit" && answer === "400 media" ? given : scenarios[kind].pipeline;
  const first = await run(made, {}, kind === "reuse" ? { reuse: true } : {});
  const events = await journal.read("x");
  const away = events.filter(({ event }) => event.type === "service.unavailable").length;
  const state = fold(events)!;
  const step = state.steps.a!;
  const { heldMicros } = await journal.ledger("x");
  mend();
  const failed = first.report.steps.find(({ status }) => status === "failed");
  const rerun = failed === undefined ? {} : { rerun: [failed.path] };
  const isOver = first.status !== "paused" && failed === undefined;
  const last = isOver ? first : await resume({ pipeline: made, compare: false, ...rerun });
  const { verdict } = expected(cell);
  const found = {
    ...{ answer, verdict },
    pause: first.pause?.reason ?? null,
    step: step.status === "failed" || step.status === "unresolved" ? step.status : "continues",
    phase: step.attempts.at(-1)?.phase ?? null,
    heldMicros,
    unconfirmed: first.report.unconfirmed !== "0.00",
    away,
    last: last.status,
    jobs: service.jobs.size,
  };
  await show.close();
  await client.close();
  return found;
}

/** The phase in which the attempt or chat rests after each verdict on it. */
const phases: readonly (readonly [phase: RegExp, verdicts: readonly string[]])[] = [
  [/^refused$/, ["refused"]],
  [/^completed$/, ["media renewed", "bill open", "no copy"]],
  [/^priced$/, ["unfunded", "out of scope", "not sent", "not sent, misdirected"]],
  [/^submitting/, ["unfunded, open", "caller refused", "limited"]],
  [/^submitting\.unknown$/, ["open", "open, misdirected"]],
  [/^unresolved$/, ["unresolved", "not found"]],
  [/^failed$/, ["chat refused", "chat unfunded", "chat caller refused", "chat not sent"]],
  [/^abandoned$/, ["chat waits", "chat abandoned", "chat misdirected"]],
];

/** What the table says of the cell, in the form in which it is found. */
function expected({ kind, answer, before }: Cell) {
  const named = verdictOf(kind, answer, before);
  // An answer that comes again and again meets the column of re-sends from the second time on.
  const verdict = named === "open" ? verdictOf(kind, answer, "re-send") : named;
  const { hold, step, pause, retried } = verdicts[verdict];
  const { heldMicros, jobs } = scenarios[kind];
  // Also of a submit that was lost before its upload is looked at.
  const wasAway = (retried && pause !== null) || named === "open" || (kind === "upload" && before === "re-send");
  const isRenewed = verdict === "media renewed";
  const phase = phases.find(([, verdicts]) => verdicts.includes(verdict))?.[0] ?? /^/;
  return {
    ...{ answer, verdict },
    pause: isRenewed ? null : verdict === "no copy" ? "files" : pause,
    step,
    phase: expect.toSatisfy((found: string | null) => phase.test(found ?? "")),
    heldMicros: isRenewed || hold !== "unchanged" ? 0 : heldMicros,
    unconfirmed: hold === "unconfirmed",
    away: wasAway ? 1 : 0,
    last: "succeeded",
    jobs: verdict === "not reused" ? 2 : jobs,
  };
}

test.each(columns)(
  "each answer to a $kind, $before, means for job, hold, step and run what the table says, and the run ends with one paid job [G3]",
  async ({ kind, before }) => {
    const cells = sampled(Object.keys(answers) as Answer[], 9).map((answer): Cell => ({ kind, before, answer }));
    const found = await Promise.all(cells.map(walk));
    expect(found).toEqual(cells.map(expected));
  },
  300_000,
);

test("a 402 that passes is never a want of funds, however long it lasts; once it has passed, the run goes on", async () => {
  const answer = "402 retryable";
  const cells = columns.map((column): Cell => ({ ...column, answer }));
  const found = await Promise.all(cells.map(walk));
  expect(found).toEqual(cells.map(expected));
  expect(found.map(({ pause }) => pause)).not.toContain("funds");
  for (const kind of ["submit", "chat", "upload"] as const) {
    const { service, show, client, run } = await open({ kind, before: "first send", answer });
    service.fault = { ...service.fault!, times: 3 };
    expect(await run(scenarios[kind].pipeline), kind).toMatchObject({ status: "succeeded", pause: null });
    expect([service.jobs.size, service.chats.length]).toEqual(kind === "chat" ? [0, 1] : [1, 0]);
    await show.close();
    await client.close();
  }
});
