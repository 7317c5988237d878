import type { AnyStateMachine, SnapshotFrom } from "xstate";
import { chatMachine } from "./chat.ts";
import { jobMachine, outputMachine } from "./job.ts";
import { runMachine } from "./run.ts";
import { stepMachine } from "./step.ts";
import { compileTable, type StateNames, tagged } from "./table.ts";

export { chatMachine } from "./chat.ts";
export { jobMachine, outputMachine } from "./job.ts";
export { runMachine } from "./run.ts";
export { stepMachine } from "./step.ts";
export { next, stateName, type TransitionTable } from "./table.ts";

type ValueOf<M extends AnyStateMachine> = SnapshotFrom<M>["value"];

export type RunStatus = StateNames<ValueOf<typeof runMachine>>;
export type StepStatus = StateNames<ValueOf<typeof stepMachine>>;
export type JobPhase = StateNames<ValueOf<typeof jobMachine>["phase"]>;
export type MoneyPhase = StateNames<ValueOf<typeof jobMachine>["money"]>;
export type OutputPhase = StateNames<ValueOf<typeof outputMachine>>;
export type ChatPhase = StateNames<ValueOf<typeof chatMachine>>;

/** The five charts as look-up tables; the fold walks these. */
export const tables = {
  run: compileTable(runMachine),
  step: compileTable(stepMachine),
  job: compileTable(jobMachine),
  output: compileTable(outputMachine),
  chat: compileTable(chatMachine),
} as const;

const phase = jobMachine.states.phase!;

/** Sets of states, by the tags of the charts. */
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
