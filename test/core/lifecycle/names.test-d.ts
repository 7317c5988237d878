import { expectTypeOf, test } from "vitest";
import type { AnyStateMachine, SnapshotFrom } from "xstate";
import type {
  JobPhase,
  jobMachine,
  MoneyPhase,
  OutputPhase,
  outputMachine,
  RunStatus,
  runMachine,
  StateNames,
  StepStatus,
  stepMachine,
} from "../../../src/core/lifecycle/index.ts";

type ValueOf<M extends AnyStateMachine> = SnapshotFrom<M>["value"];

test("the names of states that are written out are those of the charts", () => {
  expectTypeOf<RunStatus>().toEqualTypeOf<StateNames<ValueOf<typeof runMachine>>>();
  expectTypeOf<StepStatus>().toEqualTypeOf<StateNames<ValueOf<typeof stepMachine>>>();
  expectTypeOf<JobPhase>().toEqualTypeOf<StateNames<ValueOf<typeof jobMachine>["phase"]>>();
  expectTypeOf<MoneyPhase>().toEqualTypeOf<StateNames<ValueOf<typeof jobMachine>["money"]>>();
  expectTypeOf<OutputPhase>().toEqualTypeOf<StateNames<ValueOf<typeof outputMachine>>>();
});
