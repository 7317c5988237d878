import type { Principal } from "../access/principal.ts";
import { type ErrorBody, notFound } from "../http/refusal.ts";
import { jobId as newJobId } from "../ids.ts";
import { acceptedEvents, startedEvents } from "../lifecycle/job.ts";
import { shortfall } from "../money.ts";
import { jobFinisher } from "../runner/finish.ts";
import type { ServiceContext } from "../service-context.ts";
import type { JobRow, NewJobRow } from "../store/rows.ts";
import { answerTo } from "./engine/answer.ts";
import type { ChatRequest } from "./request.ts";

/** A language model of this service, with its prices in micro-dollars per token. */
export interface ChatModel {
  readonly id: string;
  readonly promptMicros: number;
  readonly completionMicros: number;
}

/** All chat models. They are not in the catalog, whose models produce media. */
export const CHAT_MODELS: readonly ChatModel[] = [{ id: "chat-1", promptMicros: 1, completionMicros: 4 }];

export function isChatModel(id: string): boolean {
  return CHAT_MODELS.some((known) => known.id === id);
}

/** @throws Refusal 404 */
export function chatModel(id: string): ChatModel {
  const model = CHAT_MODELS.find((known) => known.id === id);
  if (model) return model;
  const fixed = "There is no such chat model.";
  throw notFound(`${fixed} On offer: ${CHAT_MODELS.map((known) => known.id).join(", ")}.`, fixed);
}

/** A word of up to five letters or digits, or one other character, with the white space before it. */
const TOKEN = /\s+$|\s*[\p{L}\p{M}\p{N}_]{1,5}|\s*[^\s\p{L}\p{M}\p{N}_]/gu;

/** Splits a text into tokens for counting and streaming; joined, they give the text. About four characters each. */
export function tokenize(text: string): readonly string[] {
  return text.match(TOKEN) ?? [];
}

/** Token overhead of each message and each answer. */
const PER_MESSAGE = 3;
/** Tokens of a picture. */
const PER_IMAGE = 85;

export interface ComposedChoice {
  readonly tokens: readonly string[];
  readonly finishReason: "stop" | "length";
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** A complete answer, computed before any of it is sent. */
export interface Composed {
  readonly choices: readonly ComposedChoice[];
  readonly usage: Usage;
  readonly priceMicros: number;
}

function beforeStop(text: string, stops: readonly string[]): string {
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
  return found.length === 0 ? text : text.slice(0, Math.min(...found));
}

function choice(request: ChatRequest, index: number, black: readonly number[] | null): ComposedChoice {
  const tokens = tokenize(beforeStop(answerTo(request, index, black), request.stops));
  if (tokens.length <= request.maxTokens) return { tokens, finishReason: "stop" };
  return { tokens: tokens.slice(0, request.maxTokens), finishReason: "length" };
}

/** Generates and prices all choices of a request; `black`: which of its pictures are. @throws Refusal 400 */
export function compose(request: ChatRequest, model: ChatModel, black: readonly number[] | null): Composed {
  const choices = Array.from({ length: request.choices }, (_, index) => choice(request, index, black));
  const prompt_tokens = request.messages.reduce(
    (sum, { text }) => sum + tokenize(text).length + PER_MESSAGE,
    PER_MESSAGE + request.images.length * PER_IMAGE,
  );
  const completion_tokens = choices.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return {
    choices,
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
    priceMicros: prompt_tokens * model.promptMicros + completion_tokens * model.completionMicros,
  };
}

/** Simulated time to the first token, and between tokens. */
const FIRST_TOKEN_MS = 200;
const PER_TOKEN_MS = 8;

/** A chat answer as a charged job. */
export interface ChatJob {
  readonly row: JobRow;
  /** When the n-th token is due on the service's clock; n counts across all choices. */
  dueMs(token: number): number;
  /** Injected outcome; null for none. */
  readonly failure: ErrorBody | null;
  /** Finishes the job: COMPLETED, or FAILED and refunded. */
  finish(): Promise<void>;
}

/** Creates a job for an answer. It is listed like any other; it has no outputs, no delivery and no idempotency key. */
export function chatJobs(service: ServiceContext) {
  const { store, clock, faults, options } = service;
  const finisher = jobFinisher(service);
  const scaled = (ms: number) => Math.round(ms / options.speed);

  function newRow(request: ChatRequest, composed: Composed, principal: Principal): NewJobRow {
    const now = clock.now();
    const prompt = request.messages.findLast(({ role }) => role === "user")?.text ?? null;
    return {
      jobId: newJobId(),
      workspaceId: principal.workspaceId,
      ownerId: principal.ownerId,
      keyId: principal.keyId,
      model: request.model,
      kind: "chat",
      quality: null,
      status: "IN_QUEUE",
      prompt,
      input: JSON.stringify(prompt === null ? {} : { prompt }),
      media: "{}",
      webhook: null,
      idempotencyKey: null,
      seed: 0,
      queueMs: 0,
      renderMs: scaled(FIRST_TOKEN_MS + composed.usage.completion_tokens * PER_TOKEN_MS),
      createdAt: now,
      chargedMicros: composed.priceMicros,
      costShownAt: now + faults.costLateMs({ model: request.model, prompt }),
    };
  }

  function insert(row: NewJobRow): JobRow {
    const wallet = store.workspaces.get(row.workspaceId);
    // The price is known only with the answer, so no required amount is stated in advance.
    const refused = shortfall(wallet, row.chargedMicros, false, service.fundingUrl(row.workspaceId));
    if (refused) throw refused;
    store.workspaces.charge(row.workspaceId, row.chargedMicros);
    const seq = store.jobs.insert(row);
    store.jobs.start(seq, row.createdAt);
    service.record(store.jobs.bySeq(seq)!, [...acceptedEvents, ...startedEvents]);
    return store.jobs.bySeq(seq)!;
  }

  /** Charges the wallet and starts the work, in one transaction. @throws Refusal 402 */
  return async (request: ChatRequest, composed: Composed, principal: Principal): Promise<ChatJob> => {
    const row = await store.write(() => insert(newRow(request, composed, principal)));
    const forced = faults.endOf(row);
    return {
      row,
      dueMs: (token) => row.createdAt + scaled(FIRST_TOKEN_MS + token * PER_TOKEN_MS),
      failure: forced.job,
      finish: () => store.write(() => finisher.finish(row.seq, [], forced)),
    };
  };
}
