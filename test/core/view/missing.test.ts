import { expect, test } from "vitest";
import { nextCommand } from "../../../src/core/run/next-command.ts";
import type { Missing } from "../../../src/core/view/missing.ts";
import { runDocument } from "../../../src/core/view/run-document.ts";
import { RunView } from "../../../src/core/view/run-view.ts";
import { attempt, output } from "../run/support/attempts.ts";
import { runningState } from "../run/support/decided.ts";
import { job } from "../run/support/plans.ts";
import { gate } from "../run/support/steps.ts";

const plan = [
  [
    job("made"),
    {
      status: "succeeded",
      attempts: [attempt(1, { outputs: [output(0, { phase: "available", copy: null, expiresAt: 48 * 3_600_000 })] })],
    },
  ],
  [
    job("gone"),
    { status: "succeeded", attempts: [attempt(1, { outputs: [output(0, { phase: "expired", copy: null })] })] },
  ],
  [job("unpriced"), { status: "succeeded", attempts: [attempt(1, { money: "held", impossibleBill: "-3 USD" })] }],
  [job("sent"), { status: "running", attempts: [attempt(1, { phase: "inProgress", money: "held" })] }],
  [
    job("doubtful"),
    { status: "unresolved", reason: "no answer came", attempts: [attempt(1, { phase: "unresolved" })] },
  ],
  [job("broken"), { status: "failed", reason: "refused" }],
  [gate("go", []), { status: "running" }],
] as const;

const said = (list: readonly Missing[]) => list.map(({ step, what }) => `${step} ${what}`);

test("What a run at rest lacks is named step by step, with until when it can be had", () => {
  const state = runningState(plan as never, { status: "paused" });
  const { missing } = runDocument(new RunView(state));
  expect(said(missing)).toEqual([
    "made file",
    "gone expired",
    "unpriced bill",
    "sent job",
    "doubtful job",
    "broken result",
    "go decision",
  ]);
  const until = new Date(48 * 3_600_000).toISOString();
  expect(missing[0]).toMatchObject({ output: 0, until, text: expect.stringContaining("until 1970-01-03 00:00 UTC") });
  expect(missing[2]!.text).toContain("the service reports -3 USD, which is impossible");
  expect(missing[3]!.text).toContain("on the service as j1");
  expect(missing[4]!.text).toContain("no answer came");
});

test("A job of which nobody knows whether it was made is not said to be there", () => {
  const unknown = [
    job("asked"),
    { status: "running", attempts: [attempt(1, { phase: "submitting.unknown", jobId: null, money: "held" })] },
  ];
  const [{ text }] = runDocument(new RunView(runningState([unknown] as never, { status: "paused" }))).missing as [
    Missing,
  ];
  expect(text).toMatch(/^asked may be running on the service, which did not confirm the submission; the step can /);
});

test.each([
  ["inProgress", "film is still running at mock; it can cost up to $0.02 (resume checks its status)"],
  ["submitting.sent", "film may be running at mock, which has not responded; the step can cost up to $0.02"],
])("A request to a provider that is %s is not said to be on the service", (phase, text) => {
  const film = [
    job("film"),
    {
      status: "running",
      attempts: [attempt(1, { phase, jobId: "gen_1", provider: "mock", money: "held", holdMicros: 20_000 } as object)],
    },
  ];
  expect(runDocument(new RunView(runningState([film] as never, { status: "paused" }))).missing).toMatchObject([
    { text },
  ]);
});

test("A run that is driven lacks nothing that does not come by itself, and one that was interrupted does", () => {
  const state = runningState(plan as never, { status: "running" });
  expect(runDocument(new RunView(state)).missing).toEqual([]);
  expect(runDocument(new RunView(state), { isInterrupted: true }).missing).toHaveLength(plan.length);
});

test("A run that went well lacks at most a bill, which resume asks for", () => {
  const late = [job("late"), { status: "succeeded", attempts: [attempt(1, { money: "held" })] }] as const;
  const state = runningState([late, plan[5]] as never, { status: "succeeded" });
  expect(said(runDocument(new RunView(state)).missing)).toEqual(["late bill"]);
  expect(nextCommand(state)).toEqual({
    command: "showrunner resume r",
    note: "checks the cost of late again: its bill is missing",
  });
});
