import type { Principal } from "../access/principal.ts";
import type { ErrorBody } from "../http/refusal.ts";
import { jobId as newJobId } from "../ids.ts";
import { acceptedEvents, startedEvents } from "../lifecycle/job.ts";
import { shortfall } from "../money.ts";
import { jobFinisher } from "../runner/finish.ts";
import type { ServiceContext } from "../service-context.ts";
import type { JobRow, NewJobRow } from "../store/rows.ts";
import type { Composed } from "./compose.ts";
import type { ChatRequest } from "./request.ts";

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
