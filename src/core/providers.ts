import { own } from "./kit/lookup.ts";

/** Returns the provider in an AI SDK provider name: `fal` for `fal.image`. */
export function providerOf(name: string): string {
  return name.split(".", 1)[0] ?? name;
}

export function declaredOf(provider: string): DeclaredProvider {
  return own(DECLARED, provider) ?? {};
}

/**
 * Returns how Showrunner avoids executing a request twice. An idempotency key is used only if the work can be polled
 * later.
 */
export function providerPromise(of: {
  readonly provider: string;
  readonly isFindable: boolean;
}): "keyed" | "found again" | "once" {
  if (!of.isFindable) return "once";
  return declaredOf(of.provider).startKey === undefined ? "found again" : "keyed";
}

export function chargedMicros(provider: string, metadata: unknown): number | null {
  const found = declaredOf(provider).cost?.at.reduce(fieldOf, metadata);
  const usd = typeof found === "string" && /^\d+(\.\d+)?$/.test(found) ? Number(found) : found;
  if (typeof usd !== "number" || !Number.isFinite(usd) || usd < 0) return null;
  // Providers may report fractions of a micro-dollar. They are rounded up, so that a sum is never too small.
  const micros = Math.ceil(Number((usd * 1_000_000).toFixed(3)));
  return Number.isSafeInteger(micros) ? micros : null;
}

/** The HTTP response to a status request, before the AI SDK package interprets it. */
export interface StatusReply {
  readonly httpStatus: number | null;
  /** The body as parsed JSON; undefined if it is not JSON or exceeds the size limit for status responses. */
  readonly body: unknown;
}

interface DeclaredStatus {
  /** True if the AI SDK package reports a failed status request as if the work had failed. */
  readonly hidesFailures?: true;
  /** Returns the status that the provider reports; null if the provider's documentation does not cover the response. */
  readonly read: (reply: StatusReply) => "pending" | "failed" | "completed" | null;
  readonly source: string;
}

/** How to read a job's status from each provider's response, by the first part of the provider's name in the AI SDK. */
export const STATUS_CALLS: { readonly [provider: string]: DeclaredStatus } = {
  fal: {
    hidesFailures: true,
    read: readFal,
    source: "https://docs.fal.ai/documentation/model-apis/request-errors, https://docs.fal.ai/errors",
  },
  replicate: {
    read: byWord(["status"], {
      pending: ["starting", "processing"],
      failed: ["failed", "canceled", "aborted"],
      completed: ["succeeded"],
    }),
    source: "https://replicate.com/docs/topics/predictions/lifecycle",
  },
  gateway: {
    read: byWord(["status"], { pending: ["pending"], failed: ["error", "cancelled"], completed: ["completed"] }),
    source: "the status schema in @ai-sdk/gateway",
  },
  google: {
    read: readGoogle,
    source: "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/veo-video-generation",
  },
  alibaba: {
    read: byWord(["output", "task_status"], {
      pending: ["PENDING", "RUNNING"],
      failed: ["FAILED", "CANCELED"],
      completed: ["SUCCEEDED"],
    }),
    source: "https://www.alibabacloud.com/help/en/model-studio/text-to-video-api-reference",
  },
  xai: {
    hidesFailures: true,
    read: readXai,
    source: "https://docs.x.ai/docs/guides/video-generations",
  },
};

interface Words {
  readonly pending: readonly string[];
  readonly failed: readonly string[];
  readonly completed: readonly string[];
}

function byWord(at: readonly string[], words: Words): DeclaredStatus["read"] {
  return ({ httpStatus, body }) => {
    const word = isOk(httpStatus) ? at.reduce(fieldOf, body) : undefined;
    const found = (["pending", "failed", "completed"] as const).find((kind) =>
      words[kind].some((known) => known === word),
    );
    return found ?? null;
  };
}

/**
 * Errors from fal's queue that show that a job has ended. Other errors, such as `internal_error`, may concern only the
 * status request.
 */
const FAL_ENDS: ReadonlySet<unknown> = new Set([
  "request_timeout",
  "startup_timeout",
  "runner_scheduling_failure",
  "runner_connection_timeout",
  "runner_disconnected",
  "runner_connection_refused",
  "runner_connection_error",
  "runner_incomplete_response",
  "runner_server_error",
  "client_cancelled",
]);

/** Reads the reply from fal's result URL. If the job failed, the reply is an error from the model or the queue. */
function readFal({ httpStatus, body }: StatusReply) {
  if (isOk(httpStatus)) return typeof fieldOf(fieldOf(body, "video"), "url") === "string" ? "completed" : null;
  const detail = fieldOf(body, "detail");
  if (detail === "Request is still in progress") return "pending";
  const isOfModel = Array.isArray(detail) && detail.some((entry) => typeof fieldOf(entry, "type") === "string");
  return isOfModel || FAL_ENDS.has(fieldOf(body, "error_type")) ? "failed" : null;
}

function readGoogle({ httpStatus, body }: StatusReply) {
  if (!isOk(httpStatus) || typeof fieldOf(body, "name") !== "string") return null;
  const done = fieldOf(body, "done") ?? false;
  if (done === false) return "pending";
  if (done !== true) return null;
  return typeof fieldOf(fieldOf(body, "error"), "message") === "string" ? "failed" : "completed";
}

function readXai(reply: StatusReply) {
  const { httpStatus, body } = reply;
  if (httpStatus === 202 && body === undefined) return "pending";
  const isBlocked = isOk(httpStatus) && fieldOf(fieldOf(body, "video"), "respect_moderation") === false;
  if (isBlocked) return "failed";
  return readXaiWord(reply);
}

const readXaiWord = byWord(["status"], { pending: ["pending"], failed: ["failed", "expired"], completed: ["done"] });

function isOk(httpStatus: number | null): boolean {
  return httpStatus !== null && httpStatus >= 200 && httpStatus < 300;
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/**
 * Returns true if the provider itself reported this status of the job. The AI SDK package may report the same status
 * for other reasons, such as a failed status request.
 */
export function isWordOfWork(provider: string, status: "pending" | "error", reply: StatusReply | null): boolean {
  const declared = own(STATUS_CALLS, provider) ?? null;
  if (status === "pending") return declared === null || reply === null || declared.read(reply) === "pending";
  if (declared !== null) return reply === null ? declared.hidesFailures !== true : declared.read(reply) === "failed";
  return reply === null || (isOk(reply.httpStatus) && reply.body !== undefined);
}

/** Facts from a provider's own documentation that allow stronger guarantees. */
interface DeclaredProvider {
  /** Header for the idempotency key. Sent only for work that can be polled later. */
  readonly startKey?: { readonly header: string; readonly source: string };
  /** Path of the charge in `providerMetadata`. The charge is in US dollars. */
  readonly cost?: { readonly at: readonly string[]; readonly source: string };
}

const DECLARED: { readonly [provider: string]: DeclaredProvider } = {
  gateway: {
    startKey: {
      header: "idempotency-key",
      source: "https://github.com/vercel/ai/releases/tag/@ai-sdk%2Fgateway@4.0.44",
    },
    cost: {
      at: ["gateway", "cost"],
      source: "https://vercel.com/docs/ai-gateway",
    },
  },
};
