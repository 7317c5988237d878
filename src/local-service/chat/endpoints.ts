import type { Principal } from "../access/principal.ts";
import { type Answer, type Call, type Endpoint, endpoint, ok } from "../http/call.ts";
import { type ErrorBody, Refusal, refuse } from "../http/refusal.ts";
import { jobId as newJobId } from "../ids.ts";
import { acceptedEvents, startedEvents } from "../lifecycle/job.ts";
import { shortfall } from "../money.ts";
import { jobFinisher } from "../runner/finish.ts";
import type { ServiceContext } from "../service-context.ts";
import type { JobRow, NewJobRow } from "../store/rows.ts";
import { chatStreamer, completion, until } from "./chat-stream.ts";
import { type Composed, chatModel, compose } from "./compose.ts";
import { type ChatRequest, modelNamed, readChatRequest } from "./request.ts";

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

function moderate(request: ChatRequest, triggers: readonly string[]): void {
  const offending = request.messages.findIndex(({ text }) =>
    triggers.some((word) => text.toLowerCase().includes(word)),
  );
  if (offending < 0) return;
  const param = `messages[${offending}].content`;
  throw refuse("MODERATION_FAILED", "The input was refused by moderation.", { param });
}

/** `POST /chat/completions`: answered by the text engine in this process, and charged like any job. */
export function chatEndpoints(service: ServiceContext): readonly Endpoint[] {
  const { clock, options, onDefect } = service;
  const start = chatJobs(service);
  const stream = chatStreamer(service);

  async function complete(call: Call): Promise<Answer> {
    const body = await call.json();
    const named = modelNamed(body);
    if (named !== null) chatModel(named);
    const request = readChatRequest(body);
    const model = chatModel(request.model);
    moderate(request, options.moderationTriggers);
    const composed = compose(request, model);
    const job = await start(request, composed, call.principal);
    const head = { id: job.row.jobId, created: Math.floor(job.row.createdAt / 1000), model: model.id };
    if (request.stream) {
      const streamed = { job, head, composed, includeUsage: request.includeUsage };
      stream(call, streamed).catch((error: unknown) => onDefect(error, call.traceId));
      return { is: "sent", status: 200 };
    }
    await until(clock, job.dueMs(composed.usage.completion_tokens));
    await job.finish();
    if (job.failure === null) return ok(completion(head, composed));
    const retryAfter = job.failure.retry_after;
    throw new Refusal(job.failure, retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) });
  }

  return [endpoint("POST", "/chat/completions", "chat:write", "Answer a conversation, whole or as a stream", complete)];
}
