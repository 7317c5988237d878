import { expect, test } from "vitest";
import { eventText, liveText, newRun, type RunEvent, specOf } from "../../../src/core/journal/events.ts";
import type { RunState } from "../../../src/core/journal/state.ts";
import { job, planOf } from "../run/support/plans.ts";
import { planned } from "./samples.ts";

const error = { code: "INTERNAL", message: "out of memory", retryable: true };
const facts = { sha256: "5f", sizeBytes: 9, contentType: "image/png" };
const at = { step: "face", attempt: 1 };

/** What each event says: with how much money, of whom, and why. */
const told: readonly (readonly [event: object, line: string | null, incident?: string])[] = [
  [{ type: "lease.acquired", epoch: 1, holder: "h:1", program: "1.0.0" }, "driven by h:1 (epoch 1)"],
  [
    { type: "lease.acquired", epoch: 2, holder: "h:2", program: "1.0.0" },
    "driven by h:2 (epoch 2)",
    "driven by another process | A new process continued the run from its last recorded event.",
  ],
  [{ type: "run.started" }, null],
  [
    { type: "run.account.moved", keyId: "k2", baseUrl: "https://b/v3", jobId: null },
    "now belongs to key k2 at https://b/v3; the run had sent nothing yet",
    "account moved | To key k2 at https://b/v3.",
  ],
  [
    { type: "run.account.moved", keyId: "k2", baseUrl: "https://b/v3", jobId: "j7" },
    "now belongs to key k2 at https://b/v3; the run's job j7 was found in this account",
    "account moved | To key k2 at https://b/v3.",
  ],
  [{ type: "run.budget.set", budgetMicros: null }, "No budget", "budget changed | No budget."],
  [{ type: "run.budget.set", budgetMicros: 2_500_000 }, "A budget of $2.50", "budget changed | A budget of $2.50."],
  [
    { type: "run.paused", reason: "funds", message: "too poor" },
    "paused (funds): too poor",
    "paused: funds | too poor",
  ],
  [{ type: "run.resumed" }, null, "resumed | "],
  [
    { type: "service.unavailable", reason: "unreachable", message: "no route" },
    "the service is unavailable, retrying: no route",
    "service unavailable | no route",
  ],
  [
    { type: "service.unavailable", reason: "misdirected", message: "a login page" },
    "the service is unavailable, retrying: a login page",
    "another server responds | a login page",
  ],
  [{ type: "service.recovered" }, "the service is available again", "service available again | "],
  [{ type: "run.finished", status: "failed", message: "face failed" }, "run failed"],
  [{ type: "run.finished", status: "succeeded", message: null }, "run succeeded"],
  [{ type: "run.reopened" }, "reopened", "reopened | Some of the run's steps are running or waiting again."],
  [{ type: "run.replanned", plan: { steps: [{}, {}] } }, "applied changed code, 2 steps", "applied changed code | "],
  [{ type: "expand.planned", step: "face", steps: [{}] }, "planned 1 step"],
  [{ type: "rerun.requested", steps: ["a", "b"] }, "rerun requested: a, b", "rerun requested | a, b"],
  [
    { type: "step.reset", step: "face", why: "its look changed" },
    "runs again: its look changed",
    "rerun | its look changed",
  ],
  [
    { type: "step.restored", ...at },
    "the inputs are unchanged after the rerun; the earlier result is kept",
    "earlier result restored | The steps that provide this step's inputs were rerun, with identical results.",
  ],
  [
    { type: "step.reused", step: "face", from: { runId: "r0", step: "head" } },
    "result reused from run r0",
    "result reused | Step head of run r0 had an identical request.",
  ],
  [{ type: "step.finished", step: "face", status: "succeeded", reason: null }, "succeeded"],
  [{ type: "step.finished", step: "face", status: "skipped", reason: "not needed" }, "skipped: not needed"],
  [{ type: "upload.stored", step: "face", ...facts }, "stored image/png, 9 bytes"],
  [{ type: "task.completed", step: "face", files: [] }, "made a value"],
  [{ type: "task.completed", step: "face", files: [{ name: "cut" }, { name: "mix" }] }, "made cut, mix"],
  [
    { type: "task.failed", step: "face", error },
    "function failed: out of memory",
    "local task failed | INTERNAL: out of memory",
  ],
  [{ type: "approval.decided", step: "face", approved: true, pick: null, note: null }, "approved", "approved | "],
  [
    { type: "approval.decided", step: "face", approved: true, pick: 1, note: "the smile" },
    "approved, take 2: the smile",
    "approved | the smile",
  ],
  [{ type: "approval.decided", step: "face", approved: false, pick: null, note: null }, "rejected", "rejected | "],
  [
    {
      type: "comment.added",
      step: "face",
      comment: {
        text: "too loud",
        take: null,
        timeMs: 12_300,
        at: 1,
        by: { name: "Ann", verified: false, link: "l1" },
      },
    },
    "comment by Ann (name not verified) at 12.3 s: too loud",
  ],
  [
    {
      type: "approval.decided",
      step: "face",
      approved: true,
      pick: 0,
      note: null,
      by: { name: "Ann", verified: false, link: "l1" },
    },
    "approved by Ann (name not verified), take 1",
    "approved by Ann (name not verified) | ",
  ],
  [{ type: "pick.decided", step: "face", chosen: { step: "takes", index: 2 } }, "chose output 2 of takes"],
  [{ type: "file.placed", step: "face", name: "poster", file: "poster.png" }, "poster saved as poster.png"],
  [{ type: "job.quoted", ...at, costMicros: null, basis: "unquotable" }, "no price (unquotable)"],
  [{ type: "job.quoted", ...at, costMicros: 40_000, basis: "quoted" }, "priced at $0.04 (quoted)"],
  [{ type: "job.submit.intended", ...at, model: "image-1", holdMicros: 40_000 }, "image-1, attempt 1, $0.04 held"],
  [{ type: "job.submit.resent", ...at }, null],
  [
    { type: "job.submit.unknown", ...at, message: "broken." },
    "sending the submit request again with the same key, because it got no answer: broken.",
    "no answer to the submit request | broken. The request is sent again with the same body and key, so the job cannot be charged twice.",
  ],
  [{ type: "job.submit.refused", ...at, error }, "refused: out of memory", "attempt 1 refused | out of memory"],
  [
    { type: "job.submit.withdrawn", ...at, reason: "funds" },
    "the wallet cannot fund this job; nothing was charged",
    "submission withdrawn | The wallet could not pay for the job; nothing was charged. The job was sent again once the wallet could pay.",
  ],
  [
    { type: "job.submit.withdrawn", ...at, reason: "expired" },
    "an upload had expired; sending it again",
    "submission withdrawn | A file that the job uses had expired on the service and was uploaded again, free of charge.",
  ],
  [
    { type: "job.submit.withdrawn", ...at, reason: "unsent" },
    "the service could not be reached; nothing was sent",
    "submission withdrawn | The service could not be reached; nothing was sent.",
  ],
  [
    { type: "job.submit.withdrawn", ...at, reason: "credentials" },
    "the service rejected the key; no job was created",
    "submission withdrawn | The service rejected the key; no job was created.",
  ],
  [
    { type: "job.unresolved", ...at, message: "no answer" },
    "needs a decision: no answer",
    "needs a decision | no answer",
  ],
  [{ type: "job.found", ...at }, "the service lists the job again", "found again | The service lists the job again."],
  [
    { type: "job.adopted", ...at, jobId: null },
    "a person decided: no job was created",
    "decided by a person | The submit request created no job.",
  ],
  [
    { type: "job.adopted", ...at, jobId: "j7" },
    "a person decided: the job is j7",
    "decided by a person | The submit request created j7.",
  ],
  [{ type: "job.submitted", ...at, jobId: "j7", model: "image-1", replayed: false }, "job j7 on image-1"],
  [{ type: "job.submitted", ...at, jobId: "j7", model: "image-1", replayed: true }, "job j7 on image-1, replayed"],
  [{ type: "job.completed", ...at, outputs: [{}, {}] }, "made 2 outputs"],
  [
    { type: "message.refused", step: "go", what: "rejection", message: "film was bought for it" },
    "rejection refused: film was bought for it",
    "rejection refused | film was bought for it",
  ],
  [
    { type: "job.doubted", ...at, message: "j7 is completed and lists no outputs" },
    "reading the job again: j7 is completed and lists no outputs",
    "incomplete answer | j7 is completed and lists no outputs",
  ],
  [
    { type: "job.adopted", ...at, jobId: "j7", isAccepted: true },
    "a person decided: the existing outputs of j7 are used as the step's result",
    "decided by a person | The existing outputs of j7 are used as the step's result.",
  ],
  [{ type: "job.failed", ...at, error }, "job failed: out of memory", "attempt 1 failed | INTERNAL: out of memory"],
  [
    { type: "job.hold.raised", ...at, holdMicros: 90_000 },
    "expected to cost more than quoted; $0.09 is now reserved",
    "hold raised | The model charges more than it quotes; $0.09 is now reserved.",
  ],
  [{ type: "job.settled", ...at, costMicros: 40_000 }, "cost $0.04"],
  [
    { type: "job.settled", ...at, costMicros: 90_000 },
    "cost $0.09",
    "charged more than quoted | The quote was $0.04. Showrunner now reserves more for later jobs of this model.",
  ],
  [{ type: "output.downloaded", ...at, index: 0, ...facts }, "downloaded image/png, 9 bytes"],
  [
    { type: "output.expired", ...at, index: 1 },
    "output 1 expired on the service",
    "output 1 expired on the service | ",
  ],
  [{ type: "chat.intended", ...at, model: "chat-1", holdMicros: 5_000 }, "asking chat-1"],
  [{ type: "chat.answered", ...at, costMicros: 3_000 }, "answered, cost $0.003"],
  [
    { type: "chat.failed", ...at, error, costMicros: 3_000 },
    "unusable answer: out of memory",
    "the model's answer was unusable | INTERNAL: out of memory",
  ],
  [
    { type: "chat.abandoned", ...at, holdMicros: 5_000 },
    "the request was never answered; it may still cost up to its maximum price",
    "request unanswered | The process that sent the request ended before the answer arrived. The request may have cost up to $0.005.",
  ],
];

function state(): RunState {
  const run = newRun("r", { ...planned(), plan: planOf([job("face")], {}) }, 0);
  run.steps.face!.attempts.push({ quote: { costMicros: 40_000, basis: "quoted" } } as never);
  return run;
}

test.each(told.map(([event, line, incident]) => ({ event: event as RunEvent, line, incident })))(
  "$event.type says to people: $line",
  ({ event, line, incident }) => {
    expect(eventText(event)).toBe(line);
    const said = specOf(event).incident?.(event, state()) ?? null;
    expect(said === null ? undefined : `${said.what} | ${said.why}`).toBe(incident);
  },
);

const details = [
  "task.failed",
  "lease.acquired",
  "run.budget.set",
  "task.completed",
  "job.quoted",
  "job.submit.intended",
];

test("a failure that nothing is tried again after is said once live, by its step", () => {
  const failed = (retryable: boolean) =>
    liveText({ type: "job.failed", ...at, error: { ...error, retryable } } as RunEvent);
  expect([failed(true), failed(false)]).toEqual(["face: job failed: out of memory", null]);
});

test("what an operation says again and again is said to people once", () => {
  const said = (saidForMs: number) => ({ type: "job.doubted", ...at, message: "no", saidForMs }) as RunEvent;
  expect([liveText(said(0)), liveText(said(2_000))]).toEqual(["face: reading the job again: no", null]);
  expect(specOf(said(2_000)).incident?.(said(2_000), state())).toBeNull();
});

test("the live output of a run shows what is no detail, after the name of its step", () => {
  for (const [said, line] of told) {
    const event = said as RunEvent;
    const isDetail = [...details, "job.adopted", "job.completed"].includes(event.type);
    const whole = "step" in event ? `${event.step}: ${line}` : line;
    expect(liveText(event), event.type).toBe(line === null || isDetail ? null : whole);
  }
});

test.each([
  ["funds", "run.needs-funds", "showrunner resume r"],
  ["budget", "run.needs-funds", "showrunner resume r"],
  ["cap", "run.needs-funds", "showrunner resume r"],
  ["unreachable", "run.unreachable", "showrunner resume r"],
  ["misdirected", "run.unreachable", "showrunner resume r"],
  ["credentials", "run.unreachable", "showrunner resume r"],
  ["drift", "run.waiting", "showrunner show r"],
  ["unresolved", "run.waiting", "showrunner show r"],
  ["unanswered", "run.waiting", "showrunner show r"],
  ["code", "run.waiting", "showrunner show r"],
])("a pause for %s is news: %s, %s", (reason, event, next) => {
  const paused = { type: "run.paused", reason, message: "why" } as RunEvent;
  expect(specOf(paused).notice?.(paused, state())).toEqual({
    ...{ event, status: "paused", reason, message: "why", step: null, next },
  });
});

test("the news of a pause suggests the limit that stopped the run", () => {
  const limitFlags = ["--cap", "customer=*:0.30/day"];
  const paused = { type: "run.paused", reason: "cap", message: "why", limitFlags } as unknown as RunEvent;
  expect(specOf(paused).notice?.(paused, state())?.next).toBe("showrunner resume r --cap 'customer=*:0.30/day'");
});

test.each(["approval", "stopped"])("a pause for %s is no news: the person was told before, or did it", (reason) => {
  const paused = { type: "run.paused", reason, message: "why" } as RunEvent;
  expect(specOf(paused).notice?.(paused, state())).toBeNull();
});

test.each([
  ["failed", "run.failed"],
  ["succeeded", "run.finished"],
  ["partial", "run.finished"],
])("a run that ended as %s is told as %s, with the command that shows it", (status, event) => {
  const finished = { type: "run.finished", status, message: null } as RunEvent;
  expect(specOf(finished).notice?.(finished, state())).toEqual({
    ...{ event, status, reason: null, message: null, step: null, next: "showrunner report r" },
  });
});

test("every event has an answer for each reader, or says that it means nothing to it", () => {
  for (const [event] of told) {
    const spec = specOf(event as RunEvent);
    for (const reader of ["ledger", "media", "timeline", "line", "incident", "notice"] as const)
      expect([event, reader, spec[reader] === null ? "nothing" : typeof spec[reader]]).toEqual([
        ...[event, reader, expect.stringMatching(/^(nothing|function)$/)],
      ]);
    expect(spec.changes).toMatch("step" in event ? /^(step|plan)$/ : /^(run|plan)$/);
  }
});

/** Money: what is reserved, given back, and paid. */
test.each<[type: string, facts: object, change?: object]>([
  ["job.submit.intended", { holdMicros: 7 }, { type: "hold", amountMicros: 7 }],
  ["chat.intended", { holdMicros: 7 }, { type: "hold", amountMicros: 7 }],
  ["job.hold.raised", { holdMicros: 9 }, { type: "raise", amountMicros: 9 }],
  ["job.submitted", {}, { type: "charged" }],
  ["job.adopted", { jobId: "j7" }, { type: "charged" }],
  ["job.adopted", { jobId: null }, { type: "release" }],
  ["job.submit.refused", {}, { type: "release" }],
  ["job.submit.withdrawn", {}, { type: "release" }],
  ["job.settled", { costMicros: 5 }, { type: "settle", costMicros: 5 }],
  ["chat.answered", { costMicros: 5 }, { type: "settle", costMicros: 5 }],
  ["chat.failed", { costMicros: 5 }, { type: "settle", costMicros: 5 }],
  ["chat.abandoned", { holdMicros: 5 }, { type: "settle", costMicros: 5 }],
  ["job.submit.unknown", {}],
  ["job.failed", {}],
])("%s with %j does to the ledger: %j", (type, facts, change) => {
  const event = { type, ...at, ...facts } as RunEvent;
  expect(specOf(event).ledger?.(event)).toEqual(change && { ...at, ...change });
});

test.each([
  [{ type: "upload.stored", ...facts }, ["5f"]],
  [{ type: "output.downloaded", ...facts }, ["5f"]],
  [{ type: "task.completed", files: [{ sha256: "a" }, { sha256: "b" }] }, ["a", "b"]],
  [{ type: "step.reused", outputs: [{ copy: { sha256: "a" } }, { copy: null }] }, ["a"]],
])("$0.type names media that gc keeps: $1", (event, media) => {
  expect(specOf(event as unknown as RunEvent).media?.(event as unknown as RunEvent)).toEqual(media);
});
