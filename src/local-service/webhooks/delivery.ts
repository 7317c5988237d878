import { delayAfter } from "../outbound/outbox.ts";
import { codeOf, type FailureCode, type Outcome, statusOf } from "../outbound/outcome.ts";

/** Attempts per cycle: of the first sending, and of each redelivery. */
export const MAX_ATTEMPTS = 12;

/*
 *                 fire                begin                2xx
 *   (new) ─▶ PENDING ─▶ PENDING, due ───────▶ DELIVERING ───────▶ DELIVERED ─┐
 *                          ▲  ▲                 │    │                       │ replay
 *                          │  └── failed, wait ─┘    └─ the last failed ─▶ FAILED
 *                          └──────────────── replay ─────────────────────────┴┘
 */
export type DeliveryStatus = "PENDING" | "DELIVERING" | "DELIVERED" | "FAILED";
export type DeliveryEvent = "job.completed" | "job.failed";

/** Delivery state. Instants are epoch milliseconds on the service's clock. */
export interface DeliveryState {
  readonly status: DeliveryStatus;
  /** Null until the job has ended. */
  readonly event: DeliveryEvent | null;
  /** Total attempts started; never decreases. */
  readonly attempts: number;
  /** Failed attempts of the current cycle, which the retry schedule counts. */
  readonly failedInCycle: number;
  readonly redeliveryCount: number;
  readonly lastResponseStatus: number | null;
  /** Of the most recent failed attempt. */
  readonly lastError: FailureCode | null;
  readonly lastAttemptAt: number | null;
  /** Null while there is nothing to send. */
  readonly nextAttemptAt: number | null;
}

/** A delivery's state when a redelivery was requested. */
export interface ReplayEntry {
  readonly requestedAt: number;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly lastResponseStatus: number | null;
  readonly lastError: FailureCode | null;
  readonly lastAttemptAt: number | null;
}

export const NEW_DELIVERY: DeliveryState = {
  status: "PENDING",
  event: null,
  attempts: 0,
  failedInCycle: 0,
  redeliveryCount: 0,
  lastResponseStatus: null,
  lastError: null,
  lastAttemptAt: null,
  nextAttemptAt: null,
};

/** The job has ended: the first attempt is due. */
export function fire<D extends DeliveryState>(delivery: D, event: DeliveryEvent, dueAt: number): D {
  return { ...delivery, event, nextAttemptAt: dueAt };
}

/** Whether an attempt may start now. */
export function isDue({ status, nextAttemptAt }: DeliveryState, now: number): boolean {
  return status === "PENDING" && nextAttemptAt !== null && nextAttemptAt <= now;
}

/** Stored before anything is sent. */
export function begin<D extends DeliveryState>(delivery: D, now: number): D {
  const attempts = delivery.attempts + 1;
  return { ...delivery, status: "DELIVERING", attempts, lastAttemptAt: now, nextAttemptAt: null };
}

/** The delivery after an attempt. A forbidden destination is final at once. */
export function end<D extends DeliveryState>(delivery: D, outcome: Outcome, now: number): D {
  const error = codeOf(outcome);
  const answered = { ...delivery, lastResponseStatus: statusOf(outcome) };
  if (error === null) return { ...answered, status: "DELIVERED" };
  const failedInCycle = delivery.failedInCycle + 1;
  const failed = { ...answered, lastError: error, failedInCycle };
  if (outcome.is === "blocked" || failedInCycle === MAX_ATTEMPTS) return { ...failed, status: "FAILED" };
  return { ...failed, status: "PENDING", nextAttemptAt: now + delayAfter(failedInCycle) };
}

/** The process died during an attempt; whether it arrived is unknown, so it is repeated. */
export function interrupted<D extends DeliveryState>(delivery: D, now: number): D {
  return { ...delivery, status: "PENDING", nextAttemptAt: now };
}

export function mayReplay({ status }: DeliveryState): boolean {
  return status === "DELIVERED" || status === "FAILED";
}

/** A person requests redelivery: a new cycle, and a history entry. */
export function replay<D extends DeliveryState>(
  delivery: D,
  now: number,
): { readonly delivery: D; readonly entry: ReplayEntry } {
  const { status, attempts, lastResponseStatus, lastError, lastAttemptAt } = delivery;
  const redeliveryCount = delivery.redeliveryCount + 1;
  return {
    delivery: { ...delivery, status: "PENDING", failedInCycle: 0, redeliveryCount, nextAttemptAt: now },
    entry: { requestedAt: now, status, attempts, lastResponseStatus, lastError, lastAttemptAt },
  };
}
