import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { initialTransition, transition } from "xstate";
import { getShortestPaths } from "xstate/graph";
import { charts, jobPhases, runStates, stateName, stepStates } from "../../../src/core/lifecycle/index.ts";
import { explore, machines } from "./explore.ts";

const states = { run: explore("run"), step: explore("step"), job: explore("job"), output: explore("output") };

describe.each(["run", "step", "job", "output"] as const)("the %s chart", (name) => {
  const machine = machines[name];
  const table = states[name];

  test("answers every sequence of events just as the machine does [G49]", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...machine.events), { maxLength: 30 }), (types) => {
        let [snapshot] = initialTransition(machine);
        for (const type of types) {
          const before = stateName(snapshot.value);
          const can = snapshot.can({ type });
          expect(charts[name].next(before, type) !== null).toBe(can);
          if (!can) continue;
          [snapshot] = transition(machine, snapshot, { type });
          expect(charts[name].next(before, type)).toBe(stateName(snapshot.value));
        }
      }),
      { numRuns: 300 },
    );
  });

  test("reaches every one of its states, and each transition can be walked", () => {
    const paths = getShortestPaths(machine, { events: machine.events.map((type) => ({ type })) as never });
    const reached = new Set(paths.map((path) => stateName(path.state.value)));
    expect([...table.keys()].sort()).toEqual([...reached].sort());
    for (const row of table.values()) for (const to of row.values()) expect(table.has(to)).toBe(true);
  });

  test("has an end, which at most one event leads out of: a rerun", () => {
    const again: readonly string[] = { run: ["run.reopened"], step: ["step.reset"], job: [], output: [] }[name];
    const ends = [...table.values()].filter((row) => [...row.keys()].every((type) => again.includes(type)));
    expect(ends.length).toBeGreaterThan(0);
    for (const row of ends) expect([...row.keys()]).toEqual(again);
  });
});

describe("sets of states by tag", () => {
  test("hold the names that the table has, those of nested states too", () => {
    expect([...jobPhases.submitting]).toEqual(["submitting.sent", "submitting.unknown"]);
    expect([...jobPhases.inFlight]).toEqual([...jobPhases.submitting, "inQueue", "inProgress"]);
    expect([...jobPhases.open]).toEqual([...jobPhases.inFlight, "unresolved"]);
    expect(
      [...runStates.ended, ...stepStates.ended].every((name) =>
        [...states.run.keys(), ...states.step.keys()].includes(name),
      ),
    ).toBe(true);
  });

  test("are those steps and runs as ended that only a rerun leads out of, or a job that was given up", () => {
    const left = (table: (typeof states)["run"], ...events: readonly string[]) =>
      [...table].filter(([, row]) => [...row.keys()].join() === events.join()).map(([name]) => name);
    expect([...runStates.ended].sort()).toEqual(left(states.run, "run.reopened").sort());
    const failed = left(states.step, "step.reset", "step.awaited");
    expect(failed).toEqual(["failed"]);
    expect([...stepStates.ended].sort()).toEqual([...failed, ...left(states.step, "step.reset")].sort());
    expect(new Set([...stepStates.withResult, ...stepStates.withoutResult])).toEqual(stepStates.ended);
  });
});

describe("the job chart's money", () => {
  test("is held from the intent on, and never released once the service took the job", () => {
    for (const [state, row] of states.job) {
      const [money, phase] = state.split("|") as [string, string];
      // Calls of local code cost nothing.
      if (state === "none|failed") continue;
      if (["submitting.sent", "submitting.unknown"].includes(phase)) expect(money).toBe("held");
      if (["inQueue", "inProgress", "completed", "failed"].includes(phase))
        expect(["held", "settled"]).toContain(money);
      if (["planned", "priced"].includes(phase)) expect(money).toBe("none");
      if (phase === "abandoned") expect(money).toBe("unconfirmed");
      expect([...row.keys()].includes("job.submit.intended")).toBe(phase === "priced");
    }
  });

  test("is nothing for what failed only where local code failed", () => {
    const rows = [...states.job].flatMap(([from, row]) => [...row].map(([type, to]) => [from, type, to]));
    expect(rows.filter(([, , to]) => to === "none|failed")).toEqual([["none|planned", "task.failed", "none|failed"]]);
  });
});
