import { jobMachine, outputMachine } from "./job.ts";
import { runMachine } from "./run.ts";
import { stepMachine } from "./step.ts";
import { compileTable } from "./table.ts";

export { jobMachine, outputMachine } from "./job.ts";
export { runMachine } from "./run.ts";
export { stepMachine } from "./step.ts";
export { next, stateName, type TransitionTable } from "./table.ts";

/** The four charts as look-up tables; the fold walks these. */
export const tables = {
  run: compileTable(runMachine),
  step: compileTable(stepMachine),
  job: compileTable(jobMachine),
  output: compileTable(outputMachine),
} as const;
