import { expect } from "vitest";
import type { RunState } from "../../../../src/core/journal/state.ts";
import { explore } from "../../lifecycle/explore.ts";

const states = { run: explore("run"), step: explore("step"), job: explore("job"), output: explore("output") };

/** Expects that every part of the run is in a state of its chart. */
export function expectCharted(state: RunState): void {
  expect(states.run.has(state.status)).toBe(true);
  for (const step of Object.values(state.steps)) {
    expect(states.step.has(step.status)).toBe(true);
    for (const { money, phase, outputs } of step.attempts) {
      expect(states.job.has(`${money}|${phase}`)).toBe(true);
      for (const output of outputs) expect(states.output.has(output.phase)).toBe(true);
    }
  }
}
