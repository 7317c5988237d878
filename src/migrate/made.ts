import type { MadeJob } from "./body.ts";
import type { Desk } from "./desk.ts";
import type { Expression, PipelineInput } from "./expression.ts";

/** All jobs of a migration, each after those it uses. */
export function jobsOf(desk: Desk): readonly MadeJob[] {
  return [...desk.made.values()].flatMap(({ jobs }) => jobs);
}

/** Steps whose outputs the pipeline returns, in the order of the document. */
export function returnedSteps(desk: Desk): readonly string[] {
  return [...desk.made].sort(([a], [b]) => a - b).flatMap(([, { outputs }]) => outputs);
}

/** The inputs that some job uses; a body that stayed open may have asked for others. */
export function usedInputs(desk: Desk): readonly PipelineInput[] {
  const used = new Set<string>();
  for (const { input, variations, shift } of jobsOf(desk)) {
    if (shift !== null) note(shift.sound, used);
    for (const value of input.values()) note(value, used);
    for (const { own } of variations) for (const value of own.values()) note(value, used);
  }
  return desk.inputs.filter(({ name }) => used.has(name));
}

function note(expression: Expression, used: Set<string>): void {
  switch (expression.is) {
    case "json":
    case "step":
      return;
    case "upload":
    case "input":
      used.add(expression.input);
      return;
    case "template":
      for (const part of expression.parts) if (typeof part !== "string") used.add(part.input);
      return;
    case "list":
      for (const item of expression.items) note(item, used);
      return;
    case "record":
      for (const [, value] of expression.entries) note(value, used);
      return;
    default:
      expression satisfies never;
  }
}
