import { describe, expect, test } from "vitest";
import type { PauseState, RunState } from "../../../src/core/journal/state.ts";
import { fileOf, nextCommand } from "../../../src/core/run/next-command.ts";
import { planned } from "../journal/samples.ts";
import { jobs, runningState, type Steps, stepsOf } from "./support/decided.ts";
import { job, ref } from "./support/plans.ts";
import { expansion, gate, uploadRef, valueRef } from "./support/steps.ts";

/** A run in a status, with the steps as they are in it. */
const stateOf = (status: RunState["status"], steps: Steps = [], more: Partial<RunState> = {}) =>
  runningState(steps, { runId: "r1", status, ...more });

const nothing = { fundingUrl: null, requiredMicros: null, balanceMicros: null, flag: null, resumeAt: null };

function paused(pause: Partial<PauseState>, steps: Steps = [], more: Partial<RunState> = {}) {
  const state = stateOf("paused", steps, { budgetMicros: 200_000, ...more });
  state.pause = { reason: "stopped", message: "", ...nothing, ...pause };
  return nextCommand(state);
}

const RESUME = "showrunner resume r1";
const failed = { status: "failed" };
const refusedFor = (retryable: boolean) => ({
  ...failed,
  attempts: [{ error: { code: "INVALID", message: "no", retryable } }],
});

describe("a run that nobody has to do anything for", () => {
  test.each(["planned", "running", "succeeded"] as const)("names no command: %s", (status) => {
    expect(nextCommand(stateOf(status))).toBeNull();
  });

  test("but one whose process has ended is resumed, whatever its status says", () => {
    const note = "the run's process has ended; resuming fetches the results of jobs that are already paid for";
    expect(nextCommand(stateOf("running"), { isInterrupted: true })).toEqual({ command: RESUME, note });
  });
});

test("A run that no longer waits for a job names the command that waits again, even if the job is already charged", () => {
  const late = (money: string) => {
    const attempts = [{ phase: "inProgress", money, jobId: "j1", holdMicros: 7, outputs: [] }];
    return nextCommand(stateOf("succeeded", [[job("a"), { status: "failed", isGivenUp: true, attempts }]]));
  };
  const next = { command: RESUME, note: "waits again for a: its job j1 is still running" };
  expect([late("held"), late("settled")]).toEqual([next, next]);
});

describe("a paused run", () => {
  test.each([
    ["stopped", RESUME, null],
    ["unanswered", RESUME, null],
    ["funds", `${RESUME} --wait-for-funds 30m`, "if the wallet already has funds, you can omit --wait-for-funds"],
    ["credentials", RESUME, "first set SHOWRUNNER_API_KEY to a key that the service accepts"],
    [
      "unreachable",
      RESUME,
      "run this command when the service is available again; add --give-up-after 1h to wait longer",
    ],
    ["misdirected", RESUME, "requests do not reach the service: first check the network and SHOWRUNNER_BASE_URL"],
    ["code", `${RESUME} --file pipeline.ts`, "shows what changed and what the changes cost"],
    ["drift", `${RESUME} --file pipeline.ts`, "shows what changed and what the changes cost"],
    ["unresolved", RESUME, null],
    ["approval", "showrunner approve r1", "lists pending decisions"],
  ] as const)("for %s", (reason, command, note) => {
    expect(paused({ reason })).toEqual({ command, note });
  });

  test("for a cap goes on by itself when the cap begins anew, or at once with a higher one", () => {
    const at = { reason: "cap", resumeAt: Date.UTC(2030, 0, 2) } as const;
    const by =
      "run this command from 2030-01-02T00:00:00.000Z on; if a worker is running, it continues the run automatically";
    expect(paused(at)).toEqual({ command: RESUME, note: by });
    const flag = "--cap team=the team:2/day";
    const limitFlags = ["--cap", "team=the team:1.00/day", "--cap-time-zone", "Europe/Berlin"];
    expect(paused({ ...at, flag, limitFlags })).toEqual({
      command: `${RESUME} --cap 'team=the team:1.00/day' --cap-time-zone Europe/Berlin`,
      note: `${by}; to continue at once, set a higher cap: --cap 'team=the team:2/day'`,
    });
    expect(paused({ ...at, reason: "budget", requiredMicros: 1, flag, limitFlags })?.command).toBe(
      `${RESUME} --cap 'team=the team:2/day' --cap-time-zone Europe/Berlin`,
    );
    expect(paused({ reason: "cap" })?.note).toBe(
      "run this command after the cap resets; if a worker is running, it continues the run automatically",
    );
  });

  test.each([
    ["no job is priced in advance", {}, {}, "--max-unquoted 1.00"],
    ["a cap over runs", { requiredMicros: 1, flag: "--cap 2/day" }, {}, "--cap 2/day"],
    ["it has none", { requiredMicros: 150_001 }, { budgetMicros: null }, "--spending-cap 0.16"],
    ["its own would do", { requiredMicros: 200_000 }, {}, "--spending-cap 0.20"],
    ["it is reached", { requiredMicros: 200_001 }, {}, "--budget 0.21"],
    ["what was spent", { requiredMicros: 210_000 }, { spentMicros: 300_000, heldMicros: 40_000 }, "--budget 0.34"],
    [
      "what is unconfirmed",
      { requiredMicros: 210_000 },
      { unconfirmedMicros: 215_000, heldMicros: 5_000 },
      "--budget 0.22",
    ],
  ] as const)("for its budget names the limit and what would do: %s", (_why, pause, more, words) => {
    expect(paused({ reason: "budget", ...pause }, [], more)).toEqual({ command: `${RESUME} ${words}`, note: null });
  });

  test("for its budget counts the known prices of what was not sent yet, and of nothing else", () => {
    const priced = (costMicros: number | null, intendedAt: number | null = null) => ({
      attempts: [
        { intendedAt: null, quote: { costMicros: 7_000_000 } },
        { intendedAt, quote: costMicros === null ? null : { costMicros } },
      ],
    });
    const steps = [
      [job("a"), priced(400_000)],
      [job("b"), priced(30_000)],
      [job("sent"), priced(5_000_000, 1)],
      [job("unpriced"), priced(null)],
      [job("new")],
    ] as const;
    const next = paused({ reason: "budget", requiredMicros: 300_000 }, steps, { spentMicros: 100_000 });
    expect(next?.command).toBe(`${RESUME} --budget 0.53`);
  });

  test("for a job nobody knows of names its step, of several none", () => {
    const lost = { status: "unresolved" };
    expect(paused({ reason: "unresolved" }, [[job("a")], [job("the film"), lost]])).toEqual({
      command: "showrunner adopt r1 'the film'",
      note: "lists the jobs that the step may have created",
    });
    expect(paused({ reason: "unresolved" }, jobs({ a: lost, b: lost }))).toEqual({
      command: "showrunner adopt r1",
      note: "asks about each unresolved step",
    });
  });

  test("for a decision names the first step that waits, and how many there are to choose from", () => {
    const open = { status: "running" };
    const made = {
      status: "succeeded",
      outputs: [0, 1].map((index) => ({ index, status: "COMPLETED", phase: "available" })),
    };
    const see = "see the results with: showrunner approve r1";
    const shows = [ref("a", "all")];
    expect(
      paused({ reason: "approval" }, [[job("a"), made], [gate("done", shows)], [gate("look", shows), open]]),
    ).toEqual({ command: "showrunner approve r1 look --resume", note: see });
    expect(
      paused({ reason: "approval" }, stepsOf([job("a"), { ...made, ...open }], [gate("my pick", shows, true), open])),
    ).toEqual({ command: "showrunner approve r1 'my pick' --pick 1 --resume", note: `pick 1 to 2; ${see}` });
  });
});

describe("a run that has failed", () => {
  const reruns = "reruns the failed steps and the steps that depend on them";
  const refused =
    "the same input would be refused again: correct the input with -i name=value, or pass corrected code with --file FILE";

  test.each([
    ["for a reason that may pass", refusedFor(true), reruns],
    ["for one that is not known", failed, reruns],
    ["in part", { status: "partial" }, reruns],
    ["for one that will be the same again", refusedFor(false), refused],
  ])("%s", (_why, own, note) => {
    for (const status of ["failed", "partial", "cancelled"] as const) {
      const state = stateOf(status, jobs({ a: own, b: { status: "succeeded" } }));
      expect(nextCommand(state)).toEqual({ command: `${RESUME} --rerun-failed`, note });
    }
  });

  test("for a rejection reruns what was shown, each once, or the decision where only files of one's own were", () => {
    const rejected = { ...failed, approval: { approved: false, note: null } };
    const note = "replaces the rejected or missing results (which costs money again), then asks for a decision again";
    const rerun = (...steps: Steps) => nextCommand(stateOf("failed", steps));
    const a = [job("a"), { status: "succeeded" }] as const;
    expect(rerun(a, [gate("ok", [ref("a"), ref("my b"), ref("a", 1)]), rejected])).toEqual({
      command: `${RESUME} --rerun a --rerun 'my b'`,
      note,
    });
    expect(rerun([gate("ok", [uploadRef("f")]), rejected])).toEqual({ command: `${RESUME} --rerun ok`, note });
    expect(rerun(a, [gate("ok", [uploadRef("f"), valueRef("a")]), failed])?.command).toBe(`${RESUME} --rerun a`);
    // Approved, and failed all the same; or something else failed too.
    const approved = { ...failed, approval: { approved: true, note: null } };
    for (const steps of [
      [[gate("ok", [ref("a")]), approved]],
      stepsOf([job("a"), failed], [gate("ok", [ref("a")]), rejected]),
    ] as const)
      expect(rerun(...steps)?.command).toBe(`${RESUME} --rerun-failed`);
  });

  test("by code that plans steps goes on from there once the code is fixed; its file is named where none is known", () => {
    const note = "first fix the code; the run then continues from the failed expansion";
    const grow = expansion("grow", valueRef("v"));
    expect(nextCommand(stateOf("failed", [[grow, failed]]))).toEqual({ command: `${RESUME} --file pipeline.ts`, note });
    const state = stateOf("failed", [[grow, failed]]);
    state.planned = { ...state.planned, source: { file: "f.ts", exportName: "default" } as never };
    expect(nextCommand(state)).toEqual({ command: RESUME, note });
    expect(nextCommand(stateOf("failed", [[grow, { ...failed, expanded: [] }]]))?.note).toBe(reruns);
    expect(nextCommand(stateOf("failed", stepsOf([grow, failed], [job("a"), failed])))?.note).toBe(reruns);
  });

  test("only because it was stopped has nothing of its own to rerun", () => {
    expect(nextCommand(stateOf("cancelled", [[job("a"), { status: "cancelled" }]]))).toEqual({
      command: `${RESUME} --rerun-failed`,
      note: reruns,
    });
  });
});

test("the file of a run is named as --file takes it, with its export where that is not the default one", () => {
  const of = (source: object | null) => fileOf({ planned: { ...planned(), source } } as never);
  expect(of(null)).toBe("pipeline.ts");
  expect(of({ file: "my films/a.ts", exportName: "default" })).toBe("'my films/a.ts'");
  expect(of({ file: "a.ts", exportName: "short" })).toBe("a.ts#short");
});
