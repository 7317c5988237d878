import { readFile } from "node:fs/promises";
import { verdictOf, verdicts } from "../../answers.ts";
import { ApiError, answerOf, type ChatCompletion, sleep } from "../../api/index.ts";
import { valueProblems } from "../../catalog/index.ts";
import type { JournalError, RunEvent } from "../../journal/events.ts";
import { attemptOf, planStep } from "../../journal/state.ts";
import { cleanText, ownText } from "../../kit/clean-text.ts";
import { isTooDeep, MOST_LEVELS } from "../../kit/json-text.ts";
import type { ChatStep } from "../../plan/kinds/chat.ts";
import type { Json } from "../../plan/plan.ts";
import type { Command } from "../../run/command.ts";
import { plain } from "../../run/resolve.ts";
import {
  done,
  type EffectResult,
  type Judged,
  journalError,
  judge,
  retryOrPause,
  serviceFailureOf,
} from "../service/service-answers.ts";
import { beforeSending, type Effect, type EffectContext, placed } from "./effect.ts";
import { withoutCopies } from "./ensure-copies.ts";
import { filesOf, localInput } from "./local-code.ts";

type Chat = Extract<Command, { readonly type: "chat" }>;

/** Time limit for a chat. It is long, because an answer that arrives later is lost and must be paid for again. */
const ANSWER_MS = 10 * 60_000;
/** Waits of up to this many milliseconds before reading a bill are completed even if the run is stopped. */
const PATIENT_MS = 4_000;
/** Longest wait, in milliseconds, before asking for a bill again if the service cannot find the job. */
const SHORT_MS = 1_000;
const BILL_WAITS_MS = [0, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000];
const MAX_ANSWER_CHARACTERS = 1_000_000;
const TOO_LONG: Read = { ok: false, message: `The answer has more than ${MAX_ANSWER_CHARACTERS} characters.` };

type Read = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly message: string };

export const chat: Effect<"chat"> = async (command, context) => {
  const { step, attempt, model } = command;
  const { schema } = planStep(context.state, step) as ChatStep;
  const shown = await beforeSending(() => withPictures(command.input, context), context);
  if ("message" in shown) return done(unsent(command, "PICTURES_UNFIT", shown.message, false));
  if ("without" in shown) {
    const missing = unsent(command, "UNSENT", "its images could not be read", true);
    return { ...shown.without, events: [missing, ...shown.without.events] };
  }
  const body = { ...shown.body, ...formatOf(step, schema), model };
  // A stop does not interrupt this request, because paid work is awaited.
  const ask = () => context.client.chat(body, { priority: placed(context, 100), timeoutMs: ANSWER_MS });
  const reply = await untilTaken(step, ask, context);
  if ("verdict" in reply) return unanswered(command, context, reply);
  const bill = { step, attempt, jobId: reply.id, ...(await billOf(reply, command, context)) };
  const read = readAnswer(reply, schema);
  if (read.ok) return done({ type: "chat.answered", ...bill, value: read.value });
  const error: JournalError = { code: ownText("ANSWER_INVALID"), message: cleanText(read.message), retryable: true };
  const answer = schema === null ? {} : { answer: cleanText(reply.content ?? "", 100_000) };
  return done({ type: "chat.failed", ...bill, error, ...answer });
};

function unsent({ step, attempt }: Chat, code: string, message: string, retryable: boolean): RunEvent {
  const error: JournalError = { code: ownText(code), message: ownText(message), retryable };
  return { type: "chat.failed", step, attempt, jobId: null, error, costMicros: 0 };
}

async function untilTaken(
  step: string,
  ask: () => Promise<ChatCompletion>,
  context: EffectContext,
): Promise<ChatCompletion | Judged> {
  for (let worst: Judged | null = null; ; ) {
    try {
      return await ask();
    } catch (error) {
      const judged = judge("chat", error, { step });
      if (judged.verdict !== "chat not sent" && judged.verdict !== "chat waits") return judged;
      if (worst?.verdict !== "chat waits") worst = judged;
      await sleep(
        context.clock,
        context.reportOutage(serviceFailureOf(judged, "unreachable", context)),
        context.signal,
      ).catch(() => {});
      if (context.signal.aborted) return worst;
    }
  }
}

function formatOf(step: string, schema: Json | null): { readonly response_format?: Json } {
  if (schema === null) return {};
  const name = step.replace(/[^A-Za-z0-9_-]+/g, "_").slice(-64) || "answer";
  return { response_format: { type: "json_schema", json_schema: { name, schema } } };
}

function readAnswer({ content, finishReason }: ChatCompletion, schema: Json | null): Read {
  const cut = finishReason === "length" ? " The answer was cut short; use fewer words." : "";
  if (content === null || content === "") return { ok: false, message: `The answer is empty.${cut}` };
  if (content.length > MAX_ANSWER_CHARACTERS) return TOO_LONG;
  if (schema === null) return { ok: true, value: content };
  let value: Json;
  try {
    value = JSON.parse(withoutFence(content));
  } catch (error) {
    return { ok: false, message: `The answer is not JSON (${error instanceof Error ? error.message : error}).${cut}` };
  }
  if (isTooDeep(value)) return { ok: false, message: `The answer is nested deeper than ${MOST_LEVELS} levels.` };
  const problems = valueProblems(schema as { readonly [keyword: string]: unknown }, value);
  if (problems.length === 0) return { ok: true, value };
  return { ok: false, message: `The answer does not match the schema: ${problems.join("; ")}.${cut}` };
}

/** Removes the code fence that many models put around JSON. */
function withoutFence(content: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/i.exec(content)?.[1] ?? content;
}

type Bill = Pick<Extract<RunEvent, { readonly type: "chat.answered" }>, "costMicros" | "isUnconfirmed" | "tokens">;

async function billOf(reply: ChatCompletion, { model, maxCostMicros }: Chat, context: EffectContext): Promise<Bill> {
  const known = reply.costMicros ?? (await billOfJob(reply.id, context));
  if (known !== null) return { costMicros: known };
  const { promptTokens = null, completionTokens = null } = reply.usage ?? {};
  // Neither the answer nor its job states a cost: compute it from the tokens, or assume the maximum.
  const read = promptTokens === null ? null : await context.client.model(model).catch(() => null);
  const pricing = read?.pricing ?? null;
  if (promptTokens === null || completionTokens === null || pricing === null)
    return { costMicros: maxCostMicros, isUnconfirmed: true };
  const micros = (promptTokens * pricing.inputMicros + completionTokens * pricing.outputMicros) / 1e6;
  return { costMicros: Math.ceil(micros), isUnconfirmed: true, tokens: promptTokens + completionTokens };
}

async function billOfJob(jobId: string, { client, clock, signal }: EffectContext): Promise<number | null> {
  let isMissing = false;
  for (const waitMs of BILL_WAITS_MS) {
    // A stop does not interrupt the first reads, because they usually find the bill. Stop early if the service does not
    // find the job.
    const isShort = waitMs <= PATIENT_MS;
    if ((signal.aborted && !isShort) || (isMissing && waitMs > SHORT_MS)) break;
    if (waitMs > 0) await sleep(clock, waitMs, isShort ? undefined : signal).catch(() => {});
    try {
      const { costMicros } = await client.job(jobId);
      if (costMicros !== null) return costMicros;
    } catch (error) {
      const answer = answerOf(error);
      isMissing = error instanceof ApiError && error.status === 404;
      const isRefused = answer === null || !verdicts[verdictOf("settle", answer)].retried;
      if (isRefused && !isMissing) break;
    }
  }
  return null;
}

function unanswered(command: Chat, context: EffectContext, judged: Judged): EffectResult {
  const { step, attempt } = command;
  const known = journalError(judged.error);
  const failed = (error: JournalError): RunEvent => {
    return { type: "chat.failed", step, attempt, jobId: null, error, costMicros: 0 };
  };
  switch (judged.verdict) {
    case "chat refused":
      return done(failed(known));
    case "chat unfunded":
      return done(
        ...retryOrPause(judged, context, [failed({ ...known, code: ownText("INSUFFICIENT_BALANCE") })]).events,
      );
    case "chat caller refused":
      return retryOrPause(judged, context, [failed({ ...known, code: ownText("ACCOUNT_REFUSED"), retryable: true })]);
    case "chat not sent":
      return done(failed({ ...known, code: ownText("UNSENT"), retryable: true }));
    default: {
      const { holdMicros } = attemptOf(context.state, command);
      const abandoned = { type: "chat.abandoned", step, attempt, holdMicros } as const;
      return judged.verdict === "chat abandoned" ? done(abandoned) : retryOrPause(judged, context, [abandoned]);
    }
  }
}

interface Picture {
  readonly path: string;
  readonly contentType: string;
  readonly sizeBytes: number;
}

interface Message {
  readonly role: string;
  readonly content: unknown;
}

type Shown =
  | { readonly body: { readonly messages: readonly Readonly<Record<string, unknown>>[] } }
  | { readonly message: string }
  | { readonly without: EffectResult };

const MEBIBYTE = 1024 * 1024;
/** Maximum total size of the images. In Base64, they must fit into the service's body limit of 5 MiB. */
const MOST_BYTES = 3.5 * MEBIBYTE;
const MOST_PICTURES = 20;
const TYPES = ["image/jpeg", "image/png", "image/webp", "image/gif"];

async function withPictures(input: Json, context: EffectContext): Promise<Shown> {
  const { images, ...rest } = input as { readonly [field: string]: Json };
  if (images === undefined) return { body: rest as unknown as { messages: [] } };
  const hashes = filesOf(images);
  const without = await withoutCopies(hashes, context);
  if (without !== null) return { without };
  await using held = await context.media.hold(hashes);
  const pictures = [localInput(images, held)].flat() as readonly Picture[];
  const message = unfit(pictures);
  if (message !== null) return { message };
  const urls = await Promise.all(pictures.map(dataUrl));
  const parts = urls.map((url) => ({ type: "image_url", image_url: { url } }));
  const body = plain(rest) as unknown as { readonly messages: readonly Message[] };
  const at = body.messages.findIndex(({ role }) => role === "user");
  const messages = body.messages.map((message, index) =>
    index === at ? { ...message, content: [{ type: "text", text: message.content }, ...parts] } : message,
  );
  return { body: { ...body, messages } as unknown as { messages: [] } };
}

function unfit(pictures: readonly Picture[]): string | null {
  const next = "shrink them first, for example with `thumbnail` from showrunner/film";
  if (pictures.length > MOST_PICTURES)
    return `the images field contains ${pictures.length} images; a chat accepts at most ${MOST_PICTURES}`;
  for (const { contentType } of pictures) {
    if (!TYPES.includes(contentType))
      return `the images field contains ${contentType}; a chat accepts only ${TYPES.join(", ")}`;
  }
  const all = pictures.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return all <= MOST_BYTES
    ? null
    : `the images in the images field total ${all} bytes, but a chat accepts at most ${MOST_BYTES}; ${next}`;
}

async function dataUrl({ path, contentType }: Picture): Promise<string> {
  return `data:${contentType};base64,${await readFile(path, "base64")}`;
}
