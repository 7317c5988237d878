import {
  type JobPhase,
  type MoneyPhase,
  next,
  type OutputPhase,
  type RunStatus,
  type StepStatus,
  stepStates,
  type TransitionTable,
  tables,
} from "../../lifecycle/index.ts";
import { IllegalEventError } from "../errors.ts";
import { type AttemptState, newAttempt, type OutputState, type RunState, type StepState } from "../state.ts";

/**
 * Applies one event to a state.
 * @throws {@link IllegalEventError} if a state chart does not allow the transition.
 */
export class Fold {
  readonly state: RunState;
  readonly at: number;
  readonly #seq: number;
  readonly #type: string;

  constructor(
    state: RunState,
    stored: { readonly seq: number; readonly at: number; readonly event: { readonly type: string } },
  ) {
    this.state = state;
    this.at = stored.at;
    this.#seq = stored.seq;
    this.#type = stored.event.type;
  }

  illegal(from: string): IllegalEventError {
    return new IllegalEventError(this.state.runId, this.#seq, this.#type, from);
  }

  step(path: string): StepState {
    const step = this.state.steps[path];
    if (step === undefined) throw this.illegal(`(no step ${path})`);
    return step;
  }

  attempt({ step, attempt: n }: { readonly step: string; readonly attempt: number }): AttemptState {
    const attempt = this.step(step).attempts[n - 1];
    if (attempt === undefined) throw this.illegal(`(no attempt ${n} of ${step})`);
    return attempt;
  }

  addAttempt(step: string, kind: AttemptState["kind"]): AttemptState {
    const { attempts } = this.step(step);
    const attempt = newAttempt(attempts.length + 1, kind);
    attempts.push(attempt);
    return attempt;
  }

  moveRun(type = this.#type): void {
    this.state.status = this.#next(tables.run, this.state.status, type) as RunStatus;
  }

  moveStep(step: StepState, type = this.#type): void {
    const before = step.status;
    step.status = this.#next(tables.step, before, type) as StepStatus;
    this.state.losses += Number(isLoss(step.status)) - Number(isLoss(before));
  }

  moveOutput(output: OutputState, type = this.#type): void {
    output.phase = this.#next(tables.output, output.phase, type) as OutputPhase;
  }

  moveJob(attempt: AttemptState, type = this.#type): void {
    const held = attempt.money === "held" ? attempt.holdMicros : 0;
    const [money, phase] = this.#next(tables.job, `${attempt.money}|${attempt.phase}`, type).split("|");
    attempt.money = money as MoneyPhase;
    attempt.phase = phase as JobPhase;
    this.state.heldMicros += (attempt.money === "held" ? attempt.holdMicros : 0) - held;
  }

  #next(table: TransitionTable, from: string, type: string): string {
    const to = next(table, from, type);
    if (to === null) throw this.illegal(from);
    return to;
  }
}

function isLoss(status: StepStatus): boolean {
  return status !== "succeeded" && stepStates.ended.has(status);
}
