import type { ConvertedJob } from "./body.ts";
import type { Expression, PipelineInput } from "./expression.ts";
import type { MigrationContext } from "./migration-context.ts";

/** All jobs of a migration in topological order. */
export function jobsOf(context: MigrationContext): readonly ConvertedJob[] {
  return [...context.converted.values()].flatMap(({ jobs }) => jobs);
}

/** Steps whose outputs the pipeline returns, in document order. */
export function returnedSteps(context: MigrationContext): readonly string[] {
  return [...context.converted].sort(([a], [b]) => a - b).flatMap(([, { outputs }]) => outputs);
}

/** The inputs that a job uses; a body that stayed open may have requested others. */
export function usedInputs(context: MigrationContext): readonly PipelineInput[] {
  const used = new Set<string>();
  for (const { input, variations, shift } of jobsOf(context)) {
    if (shift !== null) note(shift.sound, used);
    for (const value of input.values()) note(value, used);
    for (const { own } of variations) for (const value of own.values()) note(value, used);
  }
  return context.inputs.filter(({ name }) => used.has(name));
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
