import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import type { TimelineSpan } from "../../../src/core/view/index.ts";
import { Timeline } from "../../../src/core/view/timeline.ts";
import type { RunEvent, StoredEvent } from "../../../src/index.ts";

function timelineOf(events: Iterable<StoredEvent>): readonly TimelineSpan[] {
  const timeline = new Timeline();
  for (const stored of events) timeline.add(stored);
  return timeline.spans();
}

type Planned = RunEvent & { readonly type: "run.planned" };

const planned = {
  type: "run.planned",
  plan: {
    version: 1,
    pipeline: "p",
    steps: [
      { kind: "upload", path: "sample", file: { path: "/sample.wav" } },
      { kind: "job", path: "face", input: {}, policy: { keep: true } },
      { kind: "job", path: "draft", input: {}, policy: { keep: false } },
    ],
    returns: {},
  },
} as unknown as Planned;

const picture = { index: 0, status: "COMPLETED", voiceId: null };
const voice = { index: 0, status: "COMPLETED", voiceId: "v" };
const completed = (step: string, outputs: readonly object[] = [picture]) =>
  ({ type: "job.completed", step, attempt: 1, outputs }) as unknown as RunEvent;
const intended = (step: string, attempt = 1) => ({ type: "job.submit.intended", step, attempt }) as unknown as RunEvent;
const submitted = (step: string, attempt = 1) => ({ type: "job.submitted", step, attempt }) as unknown as RunEvent;
const downloaded = (step: string, index = 0) =>
  ({ type: "output.downloaded", step, attempt: 1, index }) as unknown as RunEvent;
const finished: RunEvent = { type: "run.finished", status: "succeeded", message: null };

function stored(events: readonly (readonly [at: number, event: RunEvent])[]): StoredEvent[] {
  return events.map(([at, event], index) => ({ runId: "r", seq: index + 1, at, version: 1, event }));
}

function lines(spans: readonly TimelineSpan[]): string[] {
  return spans.map(({ step, attempt, phase, from, to }) => `${step}#${attempt} ${phase} ${from}-${to ?? ""}`);
}

describe("timeline", () => {
  test("a job queues, renders and is downloaded, also when its step is through before the copy is there", () => {
    const spans = timelineOf(
      stored([
        [0, planned],
        [0, { type: "run.started" }],
        [1, { type: "step.started", step: "face" }],
        [2, intended("face")],
        [3, submitted("face")],
        [10, { type: "job.started", step: "face", attempt: 1 }],
        [30, completed("face", [picture, { ...picture, index: 1 }])],
        [31, { type: "step.finished", step: "face", status: "succeeded", reason: null }],
        [33, downloaded("face")],
        [40, downloaded("face", 1)],
        [41, finished],
      ]),
    );
    expect(lines(spans)).toEqual(["face#1 queue 2-10", "face#1 render 10-30", "face#1 download 30-40"]);
  });

  test("a start that nobody saw counts as rendering from the acknowledgement on", () => {
    const spans = timelineOf(
      stored([
        [0, planned],
        [0, { type: "run.started" }],
        [2, intended("face")],
        [5, submitted("face")],
        [30, completed("face", [voice])],
        [41, finished],
      ]),
    );
    expect(lines(spans)).toEqual(["face#1 queue 2-5", "face#1 render 5-30"]);
  });

  test("outputs that stay on the service make no download", () => {
    const spans = timelineOf(
      stored([
        [0, planned],
        [2, submitted("draft")],
        [4, completed("draft")],
        [9, finished],
      ]),
    );
    expect(lines(spans)).toEqual(["draft#1 queue 2-2", "draft#1 render 2-4"]);
  });

  test("what goes on is open; a pause ends it with the last event, and a later one takes it up again", () => {
    const events = stored([
      [0, planned],
      [0, { type: "run.started" }],
      [1, { type: "step.started", step: "sample" }],
      [3, { type: "step.finished", step: "sample", status: "succeeded", reason: null }],
      [4, intended("face")],
      [5, { type: "job.started", step: "face", attempt: 1 }],
      [9, { type: "run.paused", reason: "stopped", message: ownText("") }],
      [20, { type: "run.resumed" }],
    ]);
    expect(lines(timelineOf(events.slice(0, 6))).at(-1)).toBe("face#1 render 5-");
    expect(lines(timelineOf(events.slice(0, 7))).at(-1)).toBe("face#1 render 5-9");
    expect(lines(timelineOf(events))).toEqual(["sample#1 upload 1-3", "face#1 queue 4-5", "face#1 render 5-"]);
  });

  test("the acknowledgement of an earlier submit says nothing of a later one", () => {
    const spans = timelineOf(
      stored([
        [0, planned],
        [2, submitted("face")],
        [4, intended("face", 2)],
        [7, completed("face", [voice])],
        [9, finished],
      ]),
    );
    expect(lines(spans)).toEqual(["face#1 queue 2-4", "face#2 queue 4-7"]);
  });

  test("a refused submit and a second attempt are spans of their own", () => {
    const error = { code: ownText("INTERNAL"), message: ownText(""), retryable: true };
    const spans = timelineOf(
      stored([
        [0, planned],
        [0, { type: "run.started" }],
        [1, intended("face")],
        [2, submitted("face")],
        [6, { type: "job.failed", step: "face", attempt: 1, error }],
        [8, intended("face", 2)],
        [9, { type: "job.submit.refused", step: "face", attempt: 2, error }],
        [10, finished],
      ]),
    );
    expect(lines(spans)).toEqual(["face#1 queue 1-2", "face#1 render 2-6", "face#2 queue 8-9"]);
  });
});

const steps = ["sample", "face", "draft", "talk", "ask", "look"];
const anyEvent = fc
  .record({
    type: fc.constantFrom(
      ...["run.started", "run.paused", "run.resumed", "run.finished", "step.started", "step.finished", "step.reset"],
      ...["job.submit.intended", "job.submit.withdrawn", "job.submitted", "job.started", "job.completed", "job.failed"],
      ...["output.downloaded", "output.expired", "job.adopted", "chat.intended", "chat.answered", "approval.decided"],
      "task.completed",
    ),
    step: fc.constantFrom(...steps),
    attempt: fc.integer({ min: 1, max: 3 }),
    outputs: fc.constantFrom([], [picture], [picture, picture], [voice]),
    jobId: fc.constantFrom(null, "j"),
  })
  .map((event) => event as unknown as RunEvent);

describe("timeline of any events whatever, in any order, by any clock", () => {
  const journal = fc.array(fc.tuple(fc.integer({ min: 0, max: 1000 }), anyEvent), { maxLength: 60 });
  const withKinds = [
    ...planned.plan.steps,
    { kind: "task", path: "talk", input: {}, files: [] },
    { kind: "approve", path: "look", shows: [] },
  ];
  const first = { ...planned, plan: { ...planned.plan, steps: withKinds } } as unknown as Planned;
  const runs = journal.map((events) => stored([[0, first], ...events]));

  test("no span ends before it begins, and those of a step never overlap", () => {
    fc.assert(
      fc.property(runs, (events) => {
        const spans = timelineOf(events);
        for (const { from, to } of spans) expect(to ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(from);
        for (const step of steps) {
          const own = spans.filter((span) => span.step === step);
          for (const [at, span] of own.slice(1).entries()) {
            expect(own[at]!.to).not.toBeNull();
            expect(own[at]!.to).toBeLessThanOrEqual(span.from);
          }
        }
      }),
    );
  });

  test("a span is open only while the run is running, and at most one a step", () => {
    fc.assert(
      fc.property(runs, (events) => {
        const open = timelineOf(events).filter(({ to }) => to === null);
        const last = events.findLast(({ event }) => /^run\.(started|resumed|paused|finished)$/.test(event.type));
        if (!/^run\.(started|resumed)$/.test(last?.event.type ?? "")) expect(open).toEqual([]);
        expect(new Set(open.map(({ step }) => step)).size).toBe(open.length);
      }),
    );
  });

  test("the same events seen in part give the same spans up to there", () => {
    fc.assert(
      fc.property(runs, fc.nat(60), (events, count) => {
        const part = timelineOf(events.slice(0, count)).map(({ step, phase, from }) => ({ step, phase, from }));
        const whole = timelineOf(events).map(({ step, phase, from }) => ({ step, phase, from }));
        expect(whole).toEqual(expect.arrayContaining(part));
      }),
    );
  });
});
