import type { Principal } from "../access/authenticate.ts";
import type { Call } from "../http/call.ts";
import { type ErrorBody, refuse, refuseForNow } from "../http/refusal.ts";
import { acceptedEvents, startedEvents } from "../lifecycle/job.ts";
import { balanceOf, shortfall } from "../money.ts";
import { jobFinisher } from "../runner/finish.ts";
import type { ServiceContext } from "../service-context.ts";
import { type ChatRow, type JobRow, type NewJobRow, jobId as newJobId } from "../store/rows.ts";
import { answerTo, argumentsOf, reasoningOn, toolCalled } from "./engine/answer.ts";
import { priceMicros } from "./models.ts";
import type { ChatRequest } from "./request.ts";

const TOKEN = /\s+$|\s*[\p{L}\p{M}\p{N}_]{1,5}|\s*[^\s\p{L}\p{M}\p{N}_]/gu;

export function tokenize(text: string): readonly string[] {
  return text.match(TOKEN) ?? [];
}

const PER_MESSAGE = 3;
const PER_IMAGE = 85;

export interface AnswerToken {
  readonly of: "reasoning" | "text" | "call";
  readonly text: string;
}

export interface Composed {
  readonly tokens: readonly AnswerToken[];
  readonly tool: string | null;
  readonly finishReason: "stop" | "length" | "tool_calls";
  readonly promptTokens: number;
  readonly reasoningTokens: number;
}

export function textOf({ tokens }: Pick<Composed, "tokens">, part: AnswerToken["of"]): string {
  return tokens.flatMap(({ of, text }) => (of === part ? text : [])).join("");
}

function beforeStop(text: string, stops: readonly string[]): string {
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
  return found.length === 0 ? text : text.slice(0, Math.min(...found));
}

/**
 * Composes the answer to a chat request. `black` contains the positions of the request's black images, counted from 1.
 * @throws Refusal 400
 */
export function compose(request: ChatRequest, black: readonly number[] | null): Composed {
  const tool = toolCalled(request);
  const part = (of: AnswerToken["of"], text: string) => tokenize(text).map((token) => ({ of, text: token }));
  const reasoning = part("reasoning", reasoningOn(request));
  const words = tool
    ? part("call", argumentsOf(request, tool))
    : part("text", beforeStop(answerTo(request, black), request.stops));
  const all = [...reasoning, ...words];
  const isCut = all.length > request.maxTokens;
  return {
    tokens: all.slice(0, request.maxTokens),
    tool: tool?.name ?? null,
    finishReason: isCut ? "length" : tool ? "tool_calls" : "stop",
    promptTokens: promptTokens(request),
    reasoningTokens: Math.min(reasoning.length, request.maxTokens),
  };
}

function promptTokens({ messages, images }: ChatRequest): number {
  return messages.reduce(
    (sum, { text }) => sum + tokenize(text).length + PER_MESSAGE,
    PER_MESSAGE + images.length * PER_IMAGE,
  );
}

const FIRST_TOKEN_MS = 200;
const PER_TOKEN_MS = 8;
/** Maximum number of chats in progress for each key, and for each workspace. */
const MOST_AT_ONCE = 15;

export interface ChatJob {
  readonly row: JobRow;
  dueMs(token: number): number;
  readonly failure: ErrorBody | null;
  /** Charges the actual cost of a completed job, and refunds a failed one. */
  finish(): Promise<void>;
}

type Sent = Pick<ChatRow, "requestId" | "streamed">;
const NO_TOKENS = { promptTokens: null, completionTokens: null, reasoningTokens: null, firstTokenMs: null };

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
      model: request.model.id,
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
      renderMs: scaled(FIRST_TOKEN_MS + composed.tokens.length * PER_TOKEN_MS),
      createdAt: now,
      chargedMicros: priceMicros(request.model, composed.promptTokens, request.maxTokens),
      costShownAt: now + faults.costLateMs({ model: request.model.id, prompt }),
    };
  }

  function insert(row: NewJobRow, sent: Sent): JobRow {
    const { workspaceId } = row;
    const inFlight = store.jobs.chatsInFlight(workspaceId, row.keyId);
    const isOver = inFlight.ofKey >= MOST_AT_ONCE || inFlight.ofWorkspace >= MOST_AT_ONCE;
    if (isOver && options.asOf !== "3.9") throw tooMany();
    const wallet = store.workspaces.get(workspaceId);
    // The final cost is not known yet, so the error states no required amount.
    const refused = shortfall(wallet, row.chargedMicros, false, service.fundingUrl(workspaceId));
    const isHeld = inFlight.heldMicros > 0 && balanceOf(wallet) + inFlight.heldMicros >= row.chargedMicros;
    if (refused && isHeld) throw refuse("INSUFFICIENT_BALANCE", HELD, { ...refused.body, retryable: true });
    if (refused) throw refused;
    store.workspaces.charge(workspaceId, row.chargedMicros);
    const seq = store.jobs.insert(row);
    store.jobs.start(seq, row.createdAt);
    store.chats.put({ ...sent, ...NO_TOKENS, jobSeq: seq });
    service.record(store.jobs.bySeq(seq)!, [...acceptedEvents, ...startedEvents]);
    return store.jobs.bySeq(seq)!;
  }

  function settle(row: JobRow, { model }: ChatRequest, composed: Composed, sent: Sent): void {
    const { tokens, promptTokens, reasoningTokens } = composed;
    const chargedMicros = priceMicros(model, promptTokens, tokens.length);
    store.workspaces.charge(row.workspaceId, chargedMicros - row.chargedMicros);
    store.jobs.settle(row.seq, chargedMicros);
    const firstTokenMs = Math.min(scaled(FIRST_TOKEN_MS), clock.now() - row.createdAt);
    store.chats.put({
      ...sent,
      jobSeq: row.seq,
      promptTokens,
      completionTokens: tokens.length,
      reasoningTokens,
      firstTokenMs,
    });
  }

  /**
   * Reserves the maximum price and starts the job, in one transaction.
   * @throws Refusal 402, 429
   */
  return async (request: ChatRequest, composed: Composed, { principal, standardHeaders }: Call): Promise<ChatJob> => {
    const sent = { requestId: standardHeaders["X-Request-Id"]!, streamed: request.stream ? 1 : 0 };
    const row = await store.write(() => insert(newRow(request, composed, principal), sent));
    const forced = faults.endOf(row);
    return {
      row,
      dueMs: (token) => row.createdAt + scaled(FIRST_TOKEN_MS + token * PER_TOKEN_MS),
      failure: forced.job,
      finish: () =>
        store.write(() => {
          settle(row, request, composed, sent);
          finisher.finish(row.seq, [], forced);
        }),
    };
  };
}

const HELD = "The balance is reserved for other requests in this workspace; retry once they have finished.";

function tooMany() {
  const message = `${MOST_AT_ONCE} requests to language models are already in flight; retry when one has finished.`;
  return refuseForNow("RESOURCE_EXHAUSTED", message, 1, {
    "X-RateLimit-Concurrency-Limit": String(MOST_AT_ONCE),
    "X-RateLimit-Concurrency-Remaining": "0",
  });
}
