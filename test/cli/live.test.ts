import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { type CommandOutput, createOutput } from "../../src/cli/io.ts";
import { LiveRun, remainingOf, renderTree } from "../../src/cli/live/tree.ts";
import { type Held, sayLimitWaits, watchRun, whileWorking } from "../../src/cli/live/watch.ts";
import type { RunEvent } from "../../src/core/journal/events.ts";
import { ownText } from "../../src/core/kit/clean-text.ts";
import type { PlanStep } from "../../src/core/plan/plan.ts";
import { fakeIo } from "./support/fake-io.ts";

const upload: PlanStep = {
  kind: "upload",
  path: "sample",
  needs: [],
  fingerprint: "f1_a",
  yields: "audio",
  file: { path: "/x/sample.wav", sha256: "00", sizeBytes: 10, contentType: "audio/wav" },
};

function job(path: string, needs: readonly string[] = []): PlanStep {
  return {
    kind: "job",
    path,
    needs,
    fingerprint: "f1_b",
    model: "some-model",
    input: {},
    yields: "image",
    outputs: 1,
    policy: { attempts: 1, maxCostMicros: null, keep: true },
  };
}

/** Jobs of the one model are known to take so long. */
const expecting = (ms: number) => (step: PlanStep) => ("model" in step && step.model === "some-model" ? ms : null);

function planned(steps: readonly PlanStep[]): RunEvent {
  return {
    type: "run.planned",
    program: "1.0.0",
    plan: { version: 1, pipeline: "portrait", steps, returns: {} },
    input: {},
    baseUrl: "http://127.0.0.1:1/v3",
    keyId: "k",
    nonce: "n",
    budgetMicros: 1_000_000,
    maxUnquotedMicros: null,
    limits: { total: 8, perModel: {}, perModality: {} },
    quoteMicros: 300_000,
    outDir: "/out",
    source: null,
  };
}

const attempt = (n: number): RunEvent[] => [
  { type: "job.quoted", step: "face", attempt: n, costMicros: 240_000, basis: "quoted" },
  {
    type: "job.submit.intended",
    step: "face",
    attempt: n,
    key: "sr1_x",
    model: "some-model",
    input: {},
    holdMicros: 250_000,
  },
  { type: "job.submitted", step: "face", attempt: n, jobId: `job_${n}`, model: "some-model", replayed: false },
  { type: "job.started", step: "face", attempt: n },
];

const submitted: RunEvent[] = [{ type: "run.started" }, { type: "step.started", step: "face" }, ...attempt(1)];

const error = { code: ownText("INTERNAL"), message: ownText("no luck"), retryable: true };
const failed: RunEvent[] = [
  { type: "job.failed", step: "face", attempt: 1, error },
  { type: "job.settled", step: "face", attempt: 1, costMicros: 250_000 },
];

const ended: RunEvent[] = [
  { type: "job.completed", step: "face", attempt: 1, outputs: [] },
  { type: "job.settled", step: "face", attempt: 1, costMicros: 240_000 },
  { type: "step.finished", step: "face", status: "succeeded", reason: null },
];

const finish = ({ path }: PlanStep): RunEvent[] => [
  { type: "step.started", step: path },
  { type: "step.finished", step: path, status: "succeeded", reason: null },
];

const steps = [upload, job("face", ["sample"]), job("video", ["face"])];

function liveAfter(events: readonly RunEvent[]): LiveRun {
  const live = new LiveRun();
  for (const [at, event] of events.entries()) live.add({ runId: "r", seq: at + 1, at: 1000 * at, version: 1, event });
  return live;
}

function withProgress(live: LiveRun, fraction: number, estimatedCompletionAt: number | null = null): LiveRun {
  live.add({ type: "progress", step: "face", fraction, estimatedCompletionAt });
  return live;
}

const money = ({ view }: LiveRun) => ({ spent: view?.state.spentMicros, held: view?.state.heldMicros });

describe("a run as updates tell it", () => {
  test("a step goes from waiting through rendering to its end, with its cost", () => {
    const { view } = liveAfter([planned(steps), ...submitted]);
    expect(view?.step("face")).toMatchObject({
      phase: "rendering",
      current: { jobId: "job_1", holdMicros: 250_000 },
    });
    expect(view?.step("video")?.phase).toBe("waiting");
    const done = liveAfter([planned(steps), ...submitted, ...ended]);
    expect(done.view?.step("face")).toMatchObject({ phase: "succeeded", costMicros: 240_000 });
  });

  test("money is held from the submit and spent from the settlement", () => {
    expect(money(liveAfter([planned(steps), ...submitted]))).toEqual({ spent: 0, held: 250_000 });
    expect(money(liveAfter([planned(steps), ...submitted, ...ended]))).toEqual({ spent: 240_000, held: 0 });
  });

  test("a progress figure counts for the stage it came in, and one for an unknown step is ignored", () => {
    const live = withProgress(liveAfter([planned(steps), ...submitted]), 0.5);
    live.add({ type: "progress", step: "none", fraction: 1, estimatedCompletionAt: null });
    expect(live.progress(live.view!.step("face")!).fraction).toBe(0.5);
    live.add({ runId: "r", seq: 8, at: 9000, version: 1, event: ended[0]! });
    expect(live.progress(live.view!.step("face")!).fraction).toBeNull();
  });
});

describe("the tree", () => {
  const plain = { now: 10_000, width: 80, height: 24, paint: (_style: unknown, text: string) => text };

  test("shows each step under what it needs, its phase, price and the sums", () => {
    const view = withProgress(liveAfter([planned(steps), ...submitted]), 0.5, 14_000);
    expect(renderTree(view, plain)).toBe(
      [
        "· sample     waiting",
        "◐   face     ██████░░░░░░  50%  about 4.0 s left  ($0.25)",
        "·     video  waiting",
        "  running  0/3 steps  spent $0.00 of $1.00  held $0.25  9.0 s",
      ].join("\n"),
    );
  });

  test("shows earlier durations of models where the service gives none, and what is left of the run", () => {
    const view = liveAfter([planned([job("face"), job("video", ["face"])]), ...submitted]);
    const tree = renderTree(view, { ...plain, width: 120, expectedMs: expecting(12_000) });
    expect(tree).toMatch(/◐ face {5}rendering {2}about [\d.]+ s left/);
    expect(tree).toMatch(/running {2}0\/2 steps .* about [\d.]+ s left$/);
    expect(renderTree(view, { ...plain, width: 120 })).toMatch(/time left unknown$/);
  });

  test("says of a job that it takes longer than usual, for how long, and that it is still asked for", () => {
    const slow = { elapsedMs: 360_000, expected: { ms: 120_000, isLearned: true } };
    const view = liveAfter([planned(steps), ...submitted, { type: "step.slow", step: "face", attempt: 1, ...slow }]);
    const since = view.view!.step("face")!.late!.since;
    const tree = renderTree(view, { ...plain, width: 140, now: since + 540_000 });
    expect(tree).toContain(
      "is taking longer than usual: 9 min 00 s so far, usually 2 min 00 s; job job_1 is still being polled",
    );
    const ends = liveAfter([
      planned(steps),
      ...submitted,
      { type: "step.slow", step: "face", attempt: 1, ...slow },
      ...ended,
    ]);
    expect(renderTree(ends, { ...plain, width: 140 })).not.toContain("longer");
  });

  test("shows how long the rate limit holds requests back, and how far a download is", () => {
    const view = withProgress(liveAfter([planned(steps), ...submitted, ended[0]!]), 0.25, null);
    const tree = renderTree(view, { ...plain, width: 120, limitWaitMs: 42_000 });
    expect(tree).toContain("face     downloading ███░░░░░░░░░  25%");
    expect(tree).toContain("rate limit: next request in 42.0 s");
  });

  test("a second attempt costs on top of the first", () => {
    expect(money(liveAfter([planned(steps), ...submitted, ...failed, ...attempt(2)]))).toEqual({
      spent: 250_000,
      held: 250_000,
    });
  });

  test("steps of every kind say what they do, and those that a value led to appear", () => {
    const shots = [job("shots/1"), job("shots/2")];
    const own = { files: [], shows: [], on: { $ref: { step: "chat", as: "value", output: 0 } } };
    const kinds = (["chat", "task", "approve", "expand"] as const).map(
      (kind) => ({ ...job(kind), ...own, kind }) as unknown as PlanStep,
    );
    const view = liveAfter([
      planned(kinds),
      { type: "run.started" },
      ...kinds.map(({ path }) => ({ type: "step.started", step: path }) as const),
      { type: "expand.planned", step: "expand", steps: shots, returns: [], groups: {} },
    ]);
    const tree = renderTree(view, plain);
    for (const words of [
      "chat     asking",
      "task     working",
      "approve  asking you",
      "expand   planning",
      "shots/2  waiting",
    ]) {
      expect(tree).toContain(words);
    }
  });

  test("fits every width and height", () => {
    const many = Array.from({ length: 40 }, (_, at) =>
      job(`step-${at}-with-a-long-name`, at > 0 ? [`step-${at - 1}-with-a-long-name`] : []),
    );
    const view = liveAfter([planned([job("face"), ...many]), ...submitted]);
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 200 }), fc.integer({ min: 5, max: 60 }), (width, height) => {
        const lines = renderTree(view, { ...plain, width, height }).split("\n");
        expect(lines.length).toBeLessThan(height);
        expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(width);
      }),
    );
  });

  test("when not every step fits, those that do something stay in sight", () => {
    const many = Array.from({ length: 40 }, (_, at) => job(`idle-${at}`));
    const tree = renderTree(liveAfter([planned([...many, job("face")]), ...submitted]), { ...plain, height: 10 });
    expect(tree).toContain("face");
    expect(tree).toContain("… 40 waiting");
    expect(tree).not.toContain("p1 ");
  });

  test("steps that just ended stay visible while others run, and older ones are a count", () => {
    const many = Array.from({ length: 60 }, (_, index) => job(`p${index}`));
    const done = many.slice(0, 20).flatMap(finish);
    const tree = renderTree(liveAfter([planned([...many, job("face")]), ...submitted, ...done]), {
      ...plain,
      height: 10,
    });
    expect(tree).toMatch(/✓ p19 /);
    expect(tree).toMatch(/◐ face/);
    expect(tree).toMatch(/… 40 waiting, \d+ done/);
    expect(tree.split("\n").length).toBeLessThanOrEqual(10);
  });

  test("no bar on what is done, though a figure comes late, and retries are numbered", () => {
    const retried = liveAfter([planned(steps), ...submitted, ...failed, ...attempt(2)]);
    expect(renderTree(retried, plain)).toContain("rendering (attempt 2)");
    const late = withProgress(liveAfter([planned(steps), ...submitted, ...ended]), 0.18, null);
    expect(renderTree(late, plain)).toMatch(/✓ +face +done +8\.0 s|✓ +face +done/);
    expect(renderTree(late, plain)).not.toContain("18%");
  });

  test("no bar before anything is done", () => {
    const view = withProgress(liveAfter([planned(steps), ...submitted]), 0, null);
    expect(renderTree(view, plain)).not.toMatch(/0%|░/);
  });

  test("the line of sums leaves out whole parts rather than be cut", () => {
    const view = liveAfter([planned(steps), ...submitted]);
    for (let width = 20; width < 120; width++) {
      const line = renderTree(view, { ...plain, width, limitWaitMs: 42_000 })
        .split("\n")
        .at(-1)!;
      expect(line.length).toBeLessThanOrEqual(width);
      expect(line).not.toContain("…");
    }
  });

  test("what is left counts the slots: 100 jobs of 4 s, eight at a time, are no 4 seconds", () => {
    const many = Array.from({ length: 100 }, (_, index) => job(`p${index}`));
    const expectedMs = expecting(4000);
    const view = liveAfter([planned(many), { type: "run.started" }]);
    expect(remainingOf(view, { now: 2000, expectedMs })).toEqual({ ms: 50_000, isLeast: false });
    const half = many.slice(0, 50).flatMap(finish);
    const later = liveAfter([planned(many), { type: "run.started" }, ...half]);
    expect(remainingOf(later, { now: 60_000, expectedMs })).toEqual({ ms: 25_000, isLeast: false });
  });

  test("what has no estimate is marked: a new model, a decision, steps that are still to be planned", () => {
    const expectedMs = expecting(4000);
    const other = { ...job("new"), model: "another" } as PlanStep;
    const left = (step: PlanStep) => remainingOf(liveAfter([planned([job("a"), step])]), { now: 0, expectedMs });
    expect(left(job("b"))).toEqual({ ms: 4000, isLeast: false });
    expect(left(other)).toEqual({ ms: 4000, isLeast: true });
    const expand: PlanStep = {
      ...{ kind: "expand", path: "shots", needs: [], fingerprint: "f1_e", maxSteps: 40, version: "1" },
      ...{ on: { $ref: { step: "a", as: "value", output: 0 } }, yields: "image", maxCostMicros: null },
    };
    expect(left(expand)).toEqual({ ms: 4000, isLeast: true });
    const running = liveAfter([planned([job("a"), expand]), { type: "run.started" }]);
    expect(renderTree(running, { ...plain, expectedMs })).toContain("at least 4.0 s left");
  });
});

describe("plain lines", () => {
  test("an error's text cannot move the cursor", async () => {
    const { io, stderr } = fakeIo();
    const error = { code: ownText("UNKNOWN"), message: ownText("bad\u001b[2J\nprompt"), retryable: true };
    async function* updates() {
      const event: RunEvent = { type: "job.failed", step: "face", attempt: 1, error };
      yield { runId: "r", seq: 1, at: 0, version: 1, event };
    }
    await watchRun(updates(), io, createOutput(io), {});
    expect(stderr()).toBe("face: job failed: bad\\u001b[2J\\nprompt\n");
  });

  test("without a terminal, a run prints one line an event, and no old news", async () => {
    const { io, stderr } = fakeIo();
    const all = [planned(steps), ...submitted, ...ended];
    async function* updates() {
      for (const [at, event] of all.entries()) yield { runId: "r", seq: at + 1, at, version: 1, event };
    }
    await watchRun(updates(), io, createOutput(io), { afterSeq: 4 });
    expect(stderr()).toBe("face: job job_1 on some-model\nface: rendering\nface: cost $0.24\nface: succeeded\n");
  });
});

describe("colour", () => {
  test.each([
    [{ isTTY: true }, {}, true],
    [{ isTTY: true }, { NO_COLOR: "1" }, false],
    [{ isTTY: true }, { TERM: "dumb" }, false],
    [{ isTTY: false }, {}, false],
    [{ isTTY: false }, { FORCE_COLOR: "1" }, true],
  ])("with %j and %j: %s", (terminal, env, coloured) => {
    const { io } = fakeIo({ terminal, env });
    expect(createOutput(io).paint("red", "x") !== "x").toBe(coloured);
  });
});

describe("long work", () => {
  test("shows progress on a terminal, within the width", async () => {
    const { io, stderr } = fakeIo({ terminal: { isTTY: true, columns: 30, rows: 10 } });
    const { promise, resolve } = Promise.withResolvers<string>();
    const write = (text: string | Uint8Array) => {
      io.stderr.write(text);
      resolve("done");
    };
    const context = { io: { ...io, stderr: { ...io.stderr, write } }, output: createOutput(io), args: [] };
    const work = whileWorking(context, "reading", (progress) => {
      progress("uploaded 1.0 of 1234567890.0 MB of a film");
      return promise;
    });
    expect(await work).toBe("done");
    const shown = stripVTControlCharacters(stderr())
      .split("\n")
      .filter((line) => line.includes("uploaded"));
    expect(shown.length).toBeGreaterThan(0);
    for (const line of shown) expect([...line].length).toBeLessThanOrEqual(29);
  });
});

test("what concerns all steps of a large run is computed once a second, of a small one for each picture", () => {
  for (const [count, times] of [
    [499, 4],
    [500, 2],
  ] as const) {
    const live = new LiveRun();
    live.add({
      runId: "r",
      seq: 1,
      at: 0,
      version: 1,
      event: planned(Array.from({ length: count }, (_, n) => job(`s-${n}`))),
    });
    let computed = 0;
    const plan = live.view!.state.planned.plan;
    const values = [0, 900, 1_100, 1_200].map((now) => live.kept("sum", plan, now, () => ++computed));
    expect(computed).toBe(times);
    expect(values.at(-1)).toBe(times);
    live.kept("sum", {}, 1_200, () => ++computed);
    expect(computed).toBe(times + 1);
  }
});

test("a wait for the key's limit is said once, with how long, and a short one not at all", () => {
  vi.useFakeTimers({ now: 1_000_000 });
  try {
    const lines: string[] = [];
    let held: Held = { queued: 0, pausedUntil: null };
    const output = { say: (text: string) => lines.push(text) } as unknown as CommandOutput;
    const waits = sayLimitWaits(() => held, output);
    const then = (queued: number, ms: number, passedMs = 2_000) => {
      held = { queued, pausedUntil: Date.now() + ms };
      vi.advanceTimersByTime(passedMs);
    };
    then(0, 60_000);
    then(3, 2_000, 500);
    expect(lines).toEqual([]);
    then(12, 45_500);
    then(11, 20_000);
    expect(lines).toEqual(["Rate limit reached: 12 requests waiting, the next in 45.0 s"]);
    then(0, 0, 60_000);
    then(1, 30_500);
    expect(lines.slice(1)).toEqual(["Rate limit reached: 1 request waiting, the next in 30.0 s"]);
    waits[Symbol.dispose]();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
