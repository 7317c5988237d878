import { ApiError, type ChatCompletion, ConnectionError, redactUrls, sleep, TimeoutError } from "../../api/index.ts";
import { valueProblems } from "../../catalog/index.ts";
import type { JournalError, RunEvent } from "../../journal/events.ts";
import { planStep } from "../../journal/state.ts";
import type { ChatStep, Json } from "../../plan/plan.ts";
import type { Command } from "../../run/command.ts";
import type { Effect, EffectContext, EffectResult } from "./effect.ts";
import { journalError, throwAccountTrouble } from "./service-trouble.ts";

type Chat = Extract<Command, { readonly type: "chat" }>;

/** A long answer takes its time; nobody can ask for it again. */
const ANSWER_MS = 10 * 60_000;
/** Between two looks at the bill of an answer, milliseconds. */
const PATIENT_MS = 4_000;
const BILL_WAITS_MS = [0, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000];
const MAX_ANSWER_CHARACTERS = 1_000_000;
const TOO_LONG: Read = { ok: false, message: `The answer has more than ${MAX_ANSWER_CHARACTERS} characters.` };

type Read = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly message: string };

/** Asks once. The intent is durable already; every way this can end is an event, and a charge is never passed over. */
export const chat: Effect<"chat"> = async (command, context) => {
  const { step, attempt, model } = command;
  const { schema } = planStep(context.state, step) as ChatStep;
  let said: ChatCompletion;
  try {
    const body = { ...(command.input as { readonly messages: [] }), ...formatOf(step, schema), model };
    // Not broken off by a stop: what is paid for is waited for.
    said = await context.client.chat(body, { priority: 100 + context.priority, timeoutMs: ANSWER_MS });
  } catch (error) {
    return unanswered(command, context, error);
  }
  const costMicros = await billOf(said.id, command, context);
  const bill = { step, attempt, jobId: said.id, costMicros };
  const read = readAnswer(said, schema);
  if (read.ok) return { events: [{ type: "chat.answered", ...bill, value: read.value }] };
  const error: JournalError = { code: "ANSWER_INVALID", message: read.message, retryable: true };
  const answer = schema === null ? {} : { answer: (said.content ?? "").slice(0, 100_000) };
  return { events: [{ type: "chat.failed", ...bill, error, ...answer }] };
};

function formatOf(step: string, schema: Json | null): { readonly response_format?: Json } {
  if (schema === null) return {};
  const name = step.replace(/[^A-Za-z0-9_-]+/g, "_").slice(-64) || "answer";
  return { response_format: { type: "json_schema", json_schema: { name, schema } } };
}

/** The value that an answer carries: its text, or the JSON that the schema asks for. */
function readAnswer({ content, finishReason }: ChatCompletion, schema: Json | null): Read {
  const cut = finishReason === "length" ? " It was cut short: say it in fewer words." : "";
  if (content === null || content === "") return { ok: false, message: `The answer is empty.${cut}` };
  if (content.length > MAX_ANSWER_CHARACTERS) return TOO_LONG;
  if (schema === null) return { ok: true, value: content };
  let value: Json;
  try {
    value = JSON.parse(withoutFence(content));
  } catch (error) {
    return { ok: false, message: `The answer is no JSON (${error instanceof Error ? error.message : error}).${cut}` };
  }
  const problems = valueProblems(schema as { readonly [keyword: string]: unknown }, value);
  if (problems.length === 0) return { ok: true, value };
  return { ok: false, message: `The answer does not meet the schema: ${problems.join("; ")}.${cut}` };
}

/** Many models put JSON into a code block, whatever they are told. */
function withoutFence(content: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/i.exec(content)?.[1] ?? content;
}

/**
 * What the answer really cost, from its job. A service that does not say, even after a while, is taken to have charged
 * all that was allowed.
 */
async function billOf(jobId: string, { maxCostMicros }: Chat, { client, clock, signal }: EffectContext) {
  for (const waitMs of BILL_WAITS_MS) {
    // A stop bears with the first looks, which mostly find the bill.
    const isShort = waitMs <= PATIENT_MS;
    if (signal.aborted && !isShort) break;
    if (waitMs > 0) await sleep(clock, waitMs, isShort ? undefined : signal).catch(() => {});
    try {
      const { costMicros } = await client.job(jobId);
      if (costMicros !== null) return costMicros;
    } catch (error) {
      if (error instanceof ApiError && error.status < 500 && error.status !== 429 && error.status !== 404) break;
    }
  }
  return maxCostMicros;
}

function unanswered(command: Chat, context: EffectContext, error: unknown): EffectResult {
  const { step, attempt, maxCostMicros } = command;
  const failed = (known: JournalError): RunEvent => {
    return { type: "chat.failed", step, attempt, jobId: null, error: known, costMicros: 0 };
  };
  if (error instanceof ApiError) {
    if (error.status === 402) return unfunded(step, failed(journalError(error)), error);
    if (isAnswerOfService(error)) {
      const known = journalError(error);
      if (error.status === 401 || error.status === 403) {
        context.emit([failed({ ...known, code: "ACCOUNT_REFUSED", retryable: true })]);
        throwAccountTrouble(error);
      }
      return { events: [failed(known)] };
    }
  }
  const isUnsent = (error instanceof ConnectionError || error instanceof TimeoutError) && !error.sent;
  if (isUnsent) return { events: [failed({ code: "UNSENT", message: redactUrls(error.message), retryable: true })] };
  // Sent, and nobody knows what became of it: it may have been charged.
  return { events: [{ type: "chat.abandoned", step, attempt, holdMicros: maxCostMicros }] };
}

/** A proxy's 5xx or a time-out says nothing about what the service did. */
function isAnswerOfService({ status, envelope }: ApiError): boolean {
  return status !== 408 && (envelope || status < 500);
}

function unfunded(step: string, failed: RunEvent, { billing, serviceMessage }: ApiError): EffectResult {
  const paused: RunEvent = {
    type: "run.paused",
    reason: "funds",
    message: `${step}: the wallet cannot fund it (${redactUrls(serviceMessage)}).`,
    ...(billing !== null && {
      fundingUrl: billing.fundingUrl,
      requiredMicros: billing.requiredMicros,
      balanceMicros: billing.balanceMicros,
    }),
  };
  return { events: [failed, paused] };
}
