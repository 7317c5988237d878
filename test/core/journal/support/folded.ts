import { apply, newRun, type RunEvent } from "../../../../src/core/journal/events.ts";
import type { RunState } from "../../../../src/core/journal/state.ts";
import type { PlanStep } from "../../../../src/core/plan/plan.ts";
import { job, planOf, ref } from "../../run/support/plans.ts";
import { chat, expansion, task, valueRef } from "../../run/support/steps.ts";
import { planned } from "../samples.ts";

export const steps: readonly PlanStep[] = [
  job("a"),
  job("b", { image: ref("a") }),
  chat("talk"),
  task("cut"),
  expansion("grow", valueRef("talk")),
];

/** A run after some events, which are ten milliseconds apart; the first event is at 100. */
export class Folded {
  readonly state: RunState;

  constructor(own = steps) {
    this.state = newRun("r", { ...planned(), plan: planOf(own) }, 90);
  }

  take(...events: readonly object[]): this {
    for (const event of events) {
      const { seq } = this.state;
      apply(this.state, { runId: "r", seq: seq + 1, at: 100 + 10 * (seq - 1), version: 4, event: event as RunEvent });
    }
    return this;
  }
}

export const started = { type: "run.started" };
export const at = (step: string, attempt = 1) => ({ step, attempt });
export const error = { code: "INTERNAL", message: "no", retryable: true };
export const quoted = (step: string, costMicros: number | null = 100, attempt = 1) => ({
  ...{ type: "job.quoted", ...at(step, attempt), costMicros, basis: costMicros === null ? "unquotable" : "quoted" },
});
export const begun = (step: string) => ({ type: "step.started", step });
export const intended = (step: string, holdMicros = 100, attempt = 1) => ({
  ...{ type: "job.submit.intended", ...at(step, attempt), key: `k${attempt}`, model: "m", input: { x: 1 }, holdMicros },
});
export const submitted = (step: string, attempt = 1) => ({
  ...{ type: "job.submitted", ...at(step, attempt), jobId: `j-${step}-${attempt}`, model: "m2", replayed: false },
});
export const output = (index: number, status = "COMPLETED") => ({
  ...{
    index,
    status,
    assetId: `x${index}`,
    voiceId: null,
    contentType: null,
    width: 1,
    height: 1,
    durationMs: null,
    fps: null,
    error: null,
  },
});
export const completed = (step: string, ...outputs: readonly object[]) => ({
  type: "job.completed",
  ...at(step),
  outputs,
});
export const settled = (step: string, costMicros: number, attempt = 1) => ({
  type: "job.settled",
  ...at(step, attempt),
  costMicros,
});
export const ended = (step: string, status: string, more: object = {}) => ({
  type: "step.finished",
  step,
  status,
  reason: null,
  ...more,
});
export const copy = { sha256: "c", sizeBytes: 2, contentType: "image/png" };
export const sent = (step: string) => [quoted(step), begun(step), intended(step)];
