import type { Tags } from "../kit/tags.ts";
import type { Columns, Row } from "./columns.ts";
import type {
  AccountTotals,
  InboxEntry,
  InboxMessage,
  LeaseHolder,
  LedgerTotals,
  NoticeRow,
  Progress,
  RunRow,
  StoredResult,
  UploadHandleRow,
} from "./store.ts";

export function runOf(columns: Columns, row: Row): RunRow {
  return {
    runId: columns.text(row, "run_id"),
    pipeline: columns.text(row, "pipeline"),
    title: columns.textOrNull(row, "title"),
    account: columns.text(row, "account"),
    createdAt: columns.integer(row, "created_at"),
    updatedAt: columns.integer(row, "updated_at"),
    lastSeq: columns.integer(row, "last_seq"),
    status: columns.text(row, "status"),
    // Only `createRun` writes the tags, after checking them.
    tags: columns.json(row, "tags") as Tags,
    resumeAt: columns.integerOrNull(row, "resume_at"),
    lease:
      row.lease_holder === null
        ? null
        : { holder: holderOf(columns, row), expiresAt: columns.integer(row, "lease_expires_at") },
    wakeAt: columns.integerOrNull(row, "wake_at"),
  };
}

export function holderOf(columns: Columns, row: Row): LeaseHolder {
  return columns.json(row, "lease_holder") as LeaseHolder;
}

export function inboxEntryOf(columns: Columns, row: Row): InboxEntry {
  return {
    id: columns.integer(row, "id"),
    at: columns.integer(row, "at"),
    // Only `send` writes messages, from typed values.
    message: columns.json(row, "message") as InboxMessage,
  };
}

export function accountTotalsOf(columns: Columns, row: Row | undefined): AccountTotals {
  if (row === undefined) return { heldMicros: 0, settledMicros: 0, mark: 0 };
  return { ...ledgerTotalsOf(columns, row), mark: columns.integer(row, "mark") };
}

export function ledgerTotalsOf(columns: Columns, row: Row): LedgerTotals {
  return {
    heldMicros: columns.integer(row, "held_micros"),
    settledMicros: columns.integer(row, "settled_micros"),
  };
}

export function resultOf(columns: Columns, row: Row): StoredResult {
  const tookMs = columns.integerOrNull(row, "took_ms");
  return {
    runId: columns.text(row, "run_id"),
    account: columns.text(row, "account"),
    step: columns.text(row, "step"),
    fingerprint: columns.text(row, "fingerprint"),
    model: columns.textOrNull(row, "model"),
    at: columns.integer(row, "at"),
    ...(tookMs !== null && { tookMs }),
  };
}

export function noticeOf(columns: Columns, row: Row): NoticeRow {
  return {
    runId: columns.text(row, "run_id"),
    seq: columns.integer(row, "seq"),
    event: columns.text(row, "event"),
    body: columns.text(row, "body"),
    attempts: columns.integer(row, "attempts"),
    dueAt: columns.integer(row, "due_at"),
    lastError: columns.textOrNull(row, "last_error"),
  };
}

export function handleOf(columns: Columns, row: Row): UploadHandleRow {
  return {
    sha256: columns.text(row, "sha256"),
    account: columns.text(row, "account"),
    url: columns.text(row, "url"),
    contentType: columns.text(row, "content_type"),
    expiresAt: columns.integer(row, "expires_at"),
  };
}

export function progressOf(columns: Columns, row: Row): Progress {
  return {
    step: columns.text(row, "step"),
    fraction: columns.realOrNull(row, "fraction"),
    estimatedCompletionAt: columns.integerOrNull(row, "estimated_completion_at"),
  };
}
