import {
  type Chart,
  charts,
  type JobPhase,
  type MoneyPhase,
  type OutputPhase,
  type RunStatus,
  type StepStatus,
  stepStates,
} from "../../lifecycle/index.ts";
import type { PlanStep } from "../../plan/plan.ts";
import { IllegalEventError } from "../errors.ts";
import {
  type AttemptState,
  newAttempt,
  type OutputState,
  type Overcharge,
  type RunState,
  type StepState,
} from "../state.ts";
import type { OutputFacts } from "./facts.ts";

/** A change to the money reserved or charged for an attempt. */
export type LedgerChange =
  /** Reserves money. `isElsewhere` is true if a provider, not the service, charges for the work. */
  | {
      readonly type: "hold";
      readonly step: string;
      readonly attempt: number;
      readonly amountMicros: number;
      readonly isElsewhere?: true;
    }
  /** Raises the amount reserved for a sent request. No limit is checked, because the money is spent anyway. */
  | { readonly type: "raise"; readonly step: string; readonly attempt: number; readonly amountMicros: number }
  /** The service has charged for the request. Balances that are read after this event include the charge. */
  | { readonly type: "charged"; readonly step: string; readonly attempt: number }
  | { readonly type: "settle"; readonly step: string; readonly attempt: number; readonly costMicros: number }
  | { readonly type: "release"; readonly step: string; readonly attempt: number };

export interface TimelineWriter {
  plan(steps: readonly PlanStep[]): void;
  work(isWorking: boolean): void;
  end(): void;
  start(step: string): void;
  begin(step: string, attempt: number, phase: "queue" | "render" | "chat"): void;
  acknowledge(step: string, attempt: number): void;
  /** Marks a job as ended. `outputs` is null if the job failed. */
  jobEnded(step: string, attempt: number, outputs: readonly OutputFacts[] | null): void;
  copied(step: string, attempt: number): void;
  close(step: string): void;
  /** Like {@link close}, but downloads of the step's outputs may continue. */
  finish(step: string): void;
}

/** A line of text about an event. */
interface EventText {
  readonly text: string;
  /** True if the line is shown only in full listings, not while the run is in progress. */
  readonly isDetail: boolean;
}

export interface IncidentText {
  readonly what: string;
  readonly why: string;
  readonly costMicros?: number | null;
  readonly attempt?: number;
}

export interface NoticeText {
  readonly event:
    | "run.waiting"
    | "run.slow"
    | "run.spending"
    | "run.needs-funds"
    | "run.unreachable"
    | "run.failed"
    | "run.finished";
  readonly status: string;
  readonly reason: string | null;
  readonly message: string | null;
  readonly step: string | null;
  readonly next: string;
}

/**
 * How events of one type are processed for each purpose. A field is null if the events do not matter for its purpose.
 */
export interface EventSpec<E> {
  readonly apply: (fold: Fold, event: E) => void;
  /**
   * What the event may change besides the run itself: nothing (`run`), the event's step (`step`) or any step (`plan`).
   */
  readonly changes: "run" | "step" | "plan";
  readonly ledger: ((event: E) => LedgerChange | null) | null;
  readonly media: ((event: E) => readonly string[]) | null;
  readonly timeline: ((timeline: TimelineWriter, event: E) => void) | null;
  readonly line: ((event: E) => EventText) | null;
  /** Returns the incident that the event reports, if any. `state` already includes the event. */
  readonly incident: ((event: E, state: RunState) => IncidentText | null) | null;
  readonly notice: ((event: E, state: RunState) => NoticeText | null) | null;
}

export type EventTable<E extends { readonly type: string }> = {
  readonly [T in E["type"]]: EventSpec<Extract<E, { readonly type: T }>>;
};

export function ignoredBy<R extends keyof EventSpec<never>>(...readers: readonly R[]): { readonly [K in R]: null } {
  return Object.fromEntries(readers.map((reader) => [reader, null])) as { readonly [K in R]: null };
}

export function line(text: string): EventText {
  return { text, isDetail: false };
}

export function detail(text: string): EventText {
  return { text, isDetail: true };
}

export function counted(count: number, singular: string): string {
  return `${count} ${count === 1 ? singular : `${singular}s`}`;
}

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
    this.state.status = this.#next(charts.run, this.state.status, type) as RunStatus;
  }

  moveStep(step: StepState, type = this.#type): void {
    const before = step.status;
    step.status = this.#next(charts.step, before, type) as StepStatus;
    this.state.losses += Number(isLoss(step.status)) - Number(isLoss(before));
  }

  moveOutput(output: OutputState, type = this.#type): void {
    output.phase = this.#next(charts.output, output.phase, type) as OutputPhase;
  }

  moveJob(attempt: AttemptState, type = this.#type): void {
    const held = attempt.money === "held" ? attempt.holdMicros : 0;
    const [money, phase] = this.#next(charts.job, `${attempt.money}|${attempt.phase}`, type).split("|");
    attempt.money = money as MoneyPhase;
    attempt.phase = phase as JobPhase;
    this.state.heldMicros += (attempt.money === "held" ? attempt.holdMicros : 0) - held;
  }

  #next(chart: Chart, from: string, type: string): string {
    const to = chart.next(from, type);
    if (to === null) throw this.illegal(from);
    return to;
  }
}

function isLoss(status: StepStatus): boolean {
  return status !== "succeeded" && stepStates.ended.has(status);
}

type Worst = Overcharge["worst"];

export function noteCharge(state: RunState, attempt: AttemptState, costMicros: number): void {
  const { model, quote, expectedMicros, costMicros: before } = attempt;
  const expected = expectedMicros ?? 0;
  const already = Math.max(0, (before ?? 0) - expected);
  const excess = Math.max(0, costMicros - expected);
  const isFree = quote?.costMicros === 0 && costMicros === 0;
  if (model === null || (excess === 0 && already === 0 && !isFree && !Object.hasOwn(state.overcharges, model))) return;
  const known = overchargeOf(state, model);
  if (isFree) known.isFree = true;
  if (excess > 0) known.isAbove = true;
  else delete known.isAbove;
  if (costMicros === quote?.costMicros && known.worst?.quotedMicros === costMicros) known.worst = null;
  known.times += Number(excess > 0) - Number(already > 0);
  known.excessMicros += excess - already;
  if (excess > 0) noteExcess(known, quote?.costMicros ?? null, costMicros);
}

function noteExcess(known: Overcharge, quotedMicros: number | null, chargedMicros: number): void {
  if (quotedMicros === null || quotedMicros === 0) known.unquotedMicros = mostOf(known.unquotedMicros, chargedMicros);
  else known.worst = worseOf(known.worst, { quotedMicros, chargedMicros });
}

function overchargeOf({ overcharges }: RunState, model: string): Overcharge {
  if (!Object.hasOwn(overcharges, model)) {
    overcharges[model] = { worst: null, unquotedMicros: null, times: 0, excessMicros: 0 };
  }
  return overcharges[model]!;
}

function worseOf(a: Worst, b: Worst): Worst {
  if (a === null || b === null) return a ?? b;
  const isWorse = BigInt(b.chargedMicros) * BigInt(a.quotedMicros) > BigInt(a.chargedMicros) * BigInt(b.quotedMicros);
  return isWorse ? b : a;
}

function mostOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}
