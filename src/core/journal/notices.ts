/** Something to notify a person of; in the outbox from the commit of its event until it was delivered. */
export interface NewNotice {
  /** Sequence number of the event that it tells of; with the run's id, its name. */
  readonly seq: number;
  /** What kind of news, such as `run.failed`. */
  readonly event: string;
  /** What is sent, as JSON. */
  readonly body: string;
}

export interface NoticeRow extends NewNotice {
  readonly runId: string;
  /** Number of delivery attempts. */
  readonly attempts: number;
  /** Epoch milliseconds of the next attempt. */
  readonly dueAt: number;
  /** What was wrong with the last attempt. */
  readonly lastError: string | null;
}

/** Claims notices that are due at `at`; until `untilAt` no other process gets them. */
export interface NoticeClaim {
  readonly at: number;
  readonly untilAt: number;
  readonly limit: number;
}

export type NoticeOutcome =
  | { readonly delivered: true }
  | { readonly delivered: false; readonly dueAt: number; readonly error: string };
