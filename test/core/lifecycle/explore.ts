import { type AnyStateMachine, initialTransition } from "xstate";
import {
  charts,
  jobMachine,
  outputMachine,
  runMachine,
  stateName,
  stepMachine,
} from "../../../src/core/lifecycle/index.ts";

export const machines: Readonly<Record<keyof typeof charts, AnyStateMachine>> = {
  run: runMachine,
  step: stepMachine,
  job: jobMachine,
  output: outputMachine,
};

/** Maps each state that a chart reaches to its events and the states that follow. */
export function explore(name: keyof typeof charts): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const machine = machines[name];
  const states = new Map<string, Map<string, string>>();
  const open = [stateName(initialTransition(machine)[0].value)];
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    if (states.has(state)) continue;
    const row = new Map<string, string>();
    states.set(state, row);
    for (const event of machine.events) {
      const next = charts[name].next(state, event);
      if (next === null) continue;
      row.set(event, next);
      open.push(next);
    }
  }
  return states;
}
