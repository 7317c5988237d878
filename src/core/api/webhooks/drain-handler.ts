import { createHmac, timingSafeEqual } from "node:crypto";
import { type Logger, parseJson, silentLogger } from "../redactor.ts";
import { findBrand, type HeaderSource, readHeaders } from "./verify-webhook.ts";
import { answer, receiver } from "./webhook-handler.ts";

/** An event from a log drain. It may be delivered several times, with the same job and log ids. */
export interface DrainEvent {
  readonly timestamp: string | null;
  readonly level: string | null;
  readonly message: string | null;
  readonly logId: string | null;
  readonly jobId: string | null;
  readonly model: string | null;
  readonly event: string | null;
  readonly source: string | null;
  readonly data: unknown;
}

/** Options for `createDrainHandler`. */
export interface DrainHandlerOptions {
  /** The drain's secret. While you rotate it, pass both the old and the new secret. */
  readonly secret: string | readonly string[];
  /** Handles one batch. If it throws, the service posts the batch again. */
  readonly onEvents: (events: readonly DrainEvent[]) => void | Promise<void>;
  /** Accept only this brand's headers. Default: any. */
  readonly brand?: string | undefined;
  /** Maximum size of a batch in bytes. Default: 16,777,216. */
  readonly maxBytes?: number | undefined;
  /** The logger. Default: logs nothing. */
  readonly logger?: Logger | undefined;
}

/** Returns whether a log drain's post was signed with the secret. */
export function verifyLogDrain(post: {
  readonly headers: HeaderSource;
  readonly body: Uint8Array;
  readonly secret: string;
  readonly brand?: string | null | undefined;
}): boolean {
  const signature = signatureIn(post.headers, post.brand);
  if (signature === null) return false;
  return timingSafeEqual(createHmac("sha256", post.secret).update(post.body).digest(), Buffer.from(signature, "hex"));
}

function signatureIn(source: HeaderSource, given: string | null | undefined): string | null {
  const headers = readHeaders(source);
  const brand = findBrand(headers, "-signature", given ?? null);
  const signature = brand === null ? "" : (headers.get(`x-${brand}-signature`) ?? "");
  return /^[0-9a-f]{64}$/i.test(signature) ? signature : null;
}

/** Creates a Fetch-style request handler for NDJSON log drains. */
export function createDrainHandler(options: DrainHandlerOptions): (request: Request) => Promise<Response> {
  const secrets = typeof options.secret === "string" ? [options.secret] : options.secret;
  if (secrets.some((secret) => secret === "")) throw new TypeError("createDrainHandler needs the drain's secret");
  const logger = options.logger ?? silentLogger;
  const refuse = (headers: Headers) =>
    signatureIn(headers, options.brand) === null ? answer(401, "bad-signature") : null;
  const handle = async (headers: Headers, body: Uint8Array) => {
    const genuine = secrets.some((secret) => verifyLogDrain({ headers, body, secret, brand: options.brand }));
    if (!genuine) return answer(401, "bad-signature");
    try {
      await options.onEvents(readDrainEvents(body));
    } catch (error) {
      logger.error({ error: String(error) }, "drain handler failed");
      return answer(500, "the handler failed; post the batch again");
    }
    return answer(200, "ok");
  };
  return receiver({ maxBytes: options.maxBytes ?? 16_777_216, refuse, handle });
}

export function readDrainEvents(body: Uint8Array): DrainEvent[] {
  const lines = Buffer.from(body).toString("utf8").split("\n");
  return lines.flatMap((line) => {
    const value = parseJson(line);
    return typeof value === "object" && value !== null ? [drainEvent(new Map(Object.entries(value)))] : [];
  });
}

function drainEvent(fields: ReadonlyMap<string, unknown>): DrainEvent {
  const prefix = [...fields.keys()].find((name) => name.endsWith("_log_id"))?.slice(0, -"log_id".length) ?? "";
  const text = (name: string) => {
    const value = fields.get(name);
    return value === undefined || value === null ? null : String(value);
  };
  return {
    timestamp: text("timestamp"),
    level: text("level"),
    message: text("message"),
    logId: text(`${prefix}log_id`),
    jobId: text(`${prefix}job_id`),
    model: text(`${prefix}model`),
    event: text(`${prefix}event`),
    source: text(`${prefix}source`),
    data: fields.get(`${prefix}data`) ?? null,
  };
}
