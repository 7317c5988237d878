import { expect } from "vitest";
import type { RunState } from "../../../../src/core/journal/state.ts";
import { tables } from "../../../../src/core/lifecycle/index.ts";

/** Expects that every part of the run is in a state of its chart. */
export function expectCharted(state: RunState): void {
  expect(tables.run.states.has(state.status)).toBe(true);
  for (const step of Object.values(state.steps)) {
    expect(tables.step.states.has(step.status)).toBe(true);
    for (const { money, phase, outputs } of step.attempts) {
      expect(tables.job.states.has(`${money}|${phase}`)).toBe(true);
      for (const output of outputs) expect(tables.output.states.has(output.phase)).toBe(true);
    }
  }
}
