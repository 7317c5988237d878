import type { PlanStep } from "../../plan/plan.ts";
import type { RunState } from "../state.ts";
import type { OutputFacts } from "./facts.ts";
import type { Fold } from "./fold-context.ts";

/** Money reserved before a submit, and what became of it. */
export type LedgerChange =
  /** `isElsewhere`: charged by a provider, so that the wallet never shows it. */
  | {
      readonly type: "hold";
      readonly step: string;
      readonly attempt: number;
      readonly amountMicros: number;
      readonly isElsewhere?: true;
    }
  /** More is reserved for what was sent already; refused by no guard, for it is spent whatever they say. */
  | { readonly type: "raise"; readonly step: string; readonly attempt: number; readonly amountMicros: number }
  /** The service acknowledged it: a balance read from now on shows the charge. */
  | { readonly type: "charged"; readonly step: string; readonly attempt: number }
  | { readonly type: "settle"; readonly step: string; readonly attempt: number; readonly costMicros: number }
  | { readonly type: "release"; readonly step: string; readonly attempt: number };

/** What the timeline of a run is written with. */
export interface TimelineWriter {
  /** These steps are in the plan from now on. */
  plan(steps: readonly PlanStep[]): void;
  /** Whether the run is at work from now on. */
  work(isWorking: boolean): void;
  /** Every open span ends. */
  end(): void;
  /** A step begins; whether that opens a span depends on its kind. */
  start(step: string): void;
  begin(step: string, attempt: number, phase: "queue" | "render" | "chat"): void;
  acknowledge(step: string, attempt: number): void;
  /** Its job ended; null: failed. */
  jobEnded(step: string, attempt: number, outputs: readonly OutputFacts[] | null): void;
  copied(step: string, attempt: number): void;
  close(step: string): void;
  /** As {@link close}, but copies continue after the end of their step. */
  finish(step: string): void;
}

/** One line about an event. A `detail` stands only where every event is listed, not in the live output of a run. */
export interface EventText {
  readonly text: string;
  readonly isDetail: boolean;
}

/** An incident: what happened, and what was done about it. */
export interface IncidentText {
  readonly what: string;
  readonly why: string;
  /** What it cost, where that is known. */
  readonly costMicros?: number | null;
  /** Set where an attempt failed: its bill and its retry may follow. */
  readonly attempt?: number;
}

/** A notification to a person. */
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

/** What a type of event means to each reader of the journal. None may be left out: `null` says that it means nothing. */
export interface EventSpec<E> {
  /** Folds it into the state, in place. */
  readonly apply: (fold: Fold, event: E) => void;
  /** What looks different after it: the run, also the event's step, or any step of the plan. */
  readonly changes: "run" | "step" | "plan";
  readonly ledger: ((event: E) => LedgerChange | null) | null;
  /** Hashes of the media that it names: `gc` deletes what no event names. */
  readonly media: ((event: E) => readonly string[]) | null;
  readonly timeline: ((timeline: TimelineWriter, event: E) => void) | null;
  /** What there is to say beside its type and its step. */
  readonly line: ((event: E) => EventText) | null;
  /** `state` holds the event already. */
  readonly incident: ((event: E, state: RunState) => IncidentText | null) | null;
  /** `state` holds the event already. */
  readonly notice: ((event: E, state: RunState) => NoticeText | null) | null;
}

export type EventTable<E extends { readonly type: string }> = {
  readonly [T in E["type"]]: EventSpec<Extract<E, { readonly type: T }>>;
};

/** Says of some readers that a type of event means nothing to them. */
export function ignoredBy<R extends keyof EventSpec<never>>(...readers: readonly R[]): { readonly [K in R]: null } {
  return Object.fromEntries(readers.map((reader) => [reader, null])) as { readonly [K in R]: null };
}

export function line(text: string): EventText {
  return { text, isDetail: false };
}

export function detail(text: string): EventText {
  return { text, isDetail: true };
}

/** `1 step`, `2 steps`. */
export function counted(count: number, singular: string): string {
  return `${count} ${count === 1 ? singular : `${singular}s`}`;
}
