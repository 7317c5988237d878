import { describe, expect, test } from "vitest";
import { type AnyStateMachine, createMachine } from "xstate";
import { jobMachine, outputMachine, runMachine, stepMachine } from "../../../src/core/lifecycle/index.ts";

const charts: readonly AnyStateMachine[] = [runMachine, stepMachine, jobMachine, outputMachine];

describe.each(charts)("the $id machine, exported as JSON", (machine) => {
  const copy = createMachine(JSON.parse(JSON.stringify(machine.config)), { guards: machine.implementations.guards });

  test("is whole: same states, same events, and every guard by its name", () => {
    expect(JSON.parse(JSON.stringify(machine.config))).toEqual(machine.config);
    expect([...copy.events].sort()).toEqual([...machine.events].sort());
    expect(JSON.stringify(copy.definition)).toBe(JSON.stringify(machine.definition));
    const named = [...JSON.stringify(machine.config).matchAll(/"guard":"([^"]+)"/g)].map((match) => match[1]);
    expect(Object.keys(machine.implementations.guards ?? {})).toEqual(expect.arrayContaining(named));
  });
});
