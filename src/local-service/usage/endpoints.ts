import { DAY_MS } from "../../core/kit/duration.ts";
import { type Answer, type Call, type Endpoint, endpoint, newestFirst, ok, readChoice } from "../http/call.ts";
import { invalid, problem } from "../http/refusal.ts";
import { instant, instantOrNull } from "../jobs/views.ts";
import { balanceOf, usd } from "../money.ts";
import type { ServiceContext } from "../service-context.ts";
import type { ChatRow, JobRow, TransactionRow } from "../store/rows.ts";

const DEFAULT_WINDOW_MS = 7 * DAY_MS;
const MAX_WINDOW_MS = 90 * DAY_MS;
const GROUPS = ["total", "day", "model"] as const;

function readInstant(call: Call, name: string): number | null {
  const text = call.query(name);
  if (text === null) return null;
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw invalid([problem(name, "must be an ISO 8601 date, with or without a time", "format")]);
}

function readWindow(call: Call, now: number): { start: number; end: number } {
  const end = readInstant(call, "end") ?? now;
  const start = readInstant(call, "start") ?? end - DEFAULT_WINDOW_MS;
  if (start >= end) throw invalid([problem("start", "must be before end", "maximum")]);
  if (end - start > MAX_WINDOW_MS) throw invalid([problem("start", "is more than 90 days before end", "minimum")]);
  return { start, end };
}

const FAILURES: Readonly<Record<string, string>> = { CANCELLED: "client_abort", DEADLINE_EXCEEDED: "timeout" };

function outcomeOf({ status, error }: JobRow): string {
  if (status !== "FAILED") return status === "COMPLETED" ? "ok" : "pending";
  return FAILURES[(JSON.parse(error ?? "{}") as { code?: string }).code ?? ""] ?? "upstream_error";
}

function llmRequest(row: JobRow & ChatRow, now: number) {
  const hasCost = row.completedAt !== null && row.costShownAt <= now;
  return {
    id: row.requestId,
    model: row.model,
    status: outcomeOf(row),
    streamed: row.streamed === 1,
    prompt_tokens: row.promptTokens,
    completion_tokens: row.completionTokens,
    reasoning_tokens: row.reasoningTokens,
    usage_estimated: false,
    cost: hasCost ? usd(row.chargedMicros - row.refundedMicros) : null,
    currency: hasCost ? "USD" : null,
    ttft_ms: row.firstTokenMs,
    duration_ms: row.completedAt === null ? null : row.completedAt - row.createdAt,
    key_id: row.keyId,
    completion_id: row.jobId,
    created_at: instant(row.createdAt),
    settled_at: instantOrNull(row.completedAt),
  };
}

export function usageEndpoints({ store, clock, options, catalog }: ServiceContext): readonly Endpoint[] {
  const isToday = options.asOf !== "3.9";

  function balance(call: Call): Answer {
    const wallet = store.workspaces.get(call.principal.workspaceId);
    const spent = wallet ? wallet.chargedMicros - wallet.refundedMicros : 0;
    return ok({ balance: usd(balanceOf(wallet)), currency: "USD", spent: usd(spent) });
  }

  function usage(call: Call): Answer {
    // The window's end is exclusive, so one millisecond is added to include the current instant.
    const { start, end } = readWindow(call, clock.now() + 1);
    const group_by = readChoice(call, "group_by", GROUPS) ?? "total";
    const rows = store.jobs.usage(group_by, call.principal.workspaceId, start, end);
    const spentMicros = rows.reduce((sum, row) => sum + row.spentMicros, 0);
    return ok({
      start: instant(start),
      end: instant(end),
      group_by,
      total_jobs: rows.reduce((sum, row) => sum + row.jobs, 0),
      ...(isToday && { total_requests: rows.reduce((sum, row) => sum + row.requests, 0) }),
      total_spent: usd(spentMicros),
      currency: "USD",
      data: rows.map(({ key, jobs, spentMicros: spent, requests }) => {
        return { key, jobs, spent: usd(spent), ...(isToday && { requests }) };
      }),
    });
  }

  function transactions(call: Call): Answer {
    const read = (before: number, count: number) =>
      store.workspaces.transactions(call.principal.workspaceId, before, count);
    return newestFirst(call, read, ({ id, kind, micros, at }: TransactionRow) => {
      return { id, kind, amount: usd(micros), currency: "USD", created_at: instant(at) };
    });
  }

  function llmRequests(call: Call): Answer {
    const [start, end] = [readInstant(call, "start"), readInstant(call, "end")];
    if (start !== null && end !== null && start >= end)
      throw invalid([problem("start", "must be before end", "maximum")]);
    const named = call.query("model");
    const model = named === null ? null : (catalog.chat(named)?.id ?? named);
    const filter = { start, end, model, keyId: call.query("key_id") };
    const read = (before: number, count: number) => store.chats.page(call.principal.workspaceId, filter, before, count);
    return newestFirst(call, read, (row) => llmRequest(row, clock.now()));
  }

  return [
    endpoint("GET", "/balance", "usage:read", "The wallet", balance),
    endpoint("GET", "/usage", "usage:read", "Jobs and spending by day or model", usage),
    ...(isToday
      ? [
          endpoint("GET", "/usage/llm", "usage:read", "Requests to language models, newest first", llmRequests),
          endpoint("GET", "/transactions", "usage:read", "Wallet transactions, newest first", transactions),
        ]
      : []),
  ];
}
