import type { PlanStep } from "../../plan/plan.ts";
import type { RunState } from "../state.ts";
import type { OutputFacts } from "./facts.ts";
import type { Fold } from "./fold-context.ts";

/** A change to the money reserved or charged for an attempt. */
export type LedgerChange =
  /** `isElsewhere`: true if a provider bills the money, not the service. */
  | {
      readonly type: "hold";
      readonly step: string;
      readonly attempt: number;
      readonly amountMicros: number;
      readonly isElsewhere?: true;
    }
  /** Raises the hold of a sent request. No limit is checked, because the money is spent anyway. */
  | { readonly type: "raise"; readonly step: string; readonly attempt: number; readonly amountMicros: number }
  /** Balances that are read after this event include the charge. */
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
  /** `outputs` is null if the job failed. */
  jobEnded(step: string, attempt: number, outputs: readonly OutputFacts[] | null): void;
  copied(step: string, attempt: number): void;
  close(step: string): void;
  /** Like {@link close}, but downloads of the step's outputs may continue. */
  finish(step: string): void;
}

/** A detail appears only in full listings, not in a run's live output. */
export interface EventText {
  readonly text: string;
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

/** How each reader handles one type of event; null if the reader ignores it. */
export interface EventSpec<E> {
  readonly apply: (fold: Fold, event: E) => void;
  /** What the event may change: only the run, the run and the event's step, or any step. */
  readonly changes: "run" | "step" | "plan";
  readonly ledger: ((event: E) => LedgerChange | null) | null;
  readonly media: ((event: E) => readonly string[]) | null;
  readonly timeline: ((timeline: TimelineWriter, event: E) => void) | null;
  readonly line: ((event: E) => EventText) | null;
  /** `state` already includes the event. */
  readonly incident: ((event: E, state: RunState) => IncidentText | null) | null;
  /** `state` already includes the event. */
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
