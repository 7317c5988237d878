import { jobMachine, outputMachine, runMachine, stepMachine } from "./machines.ts";
import { compileTable, tagged } from "./table.ts";

export { jobMachine, outputMachine, runMachine, stepMachine } from "./machines.ts";
export { next, type StateNames, stateName, type TransitionTable } from "./table.ts";

// These types are written out, so that the package's types do not depend on xstate. A type test compares them with the
// charts.
export type RunStatus = "planned" | "running" | "paused" | "succeeded" | "partial" | "failed" | "cancelled";
export type StepStatus =
  | "waiting"
  | "running"
  | "unresolved"
  | "succeeded"
  | "partial"
  | "failed"
  | "skipped"
  | "cancelled";
export type JobPhase =
  | "planned"
  | "priced"
  | "submitting.sent"
  | "submitting.unknown"
  | "unresolved"
  | "inQueue"
  | "inProgress"
  | "completed"
  | "failed"
  | "refused"
  | "lost"
  | "abandoned";
export type MoneyPhase = "none" | "held" | "settled" | "released" | "unconfirmed";
export type OutputPhase = "pending" | "available" | "downloaded" | "lapsed" | "archived" | "expired" | "failed";

export const tables = {
  run: compileTable(runMachine),
  step: compileTable(stepMachine),
  job: compileTable(jobMachine),
  output: compileTable(outputMachine),
} as const;

const phase = jobMachine.states.phase!;

export const runStates = { ended: tagged<RunStatus>(runMachine, "ended") } as const;
export const stepStates = {
  ended: tagged<StepStatus>(stepMachine, "ended"),
  withResult: tagged<StepStatus>(stepMachine, "withResult"),
  withoutResult: tagged<StepStatus>(stepMachine, "withoutResult"),
} as const;
export const jobPhases = {
  open: tagged<JobPhase>(phase, "open"),
  inFlight: tagged<JobPhase>(phase, "inFlight"),
  submitting: tagged<JobPhase>(phase, "submitting"),
  accepted: tagged<JobPhase>(phase, "accepted"),
} as const;
