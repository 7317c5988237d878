import type { ErrorBody, ErrorCode } from "../http/refusal.ts";
import type { JobRow } from "../store/rows.ts";
import type { FaultEngine, FaultSubject } from "./engine.ts";

/** The properties of a job that rules match on. */
export interface JobSubject {
  readonly model: string;
  readonly prompt: string | null;
}

/** Faults of a stream; null for none. */
export interface StreamFault {
  /** Real milliseconds between events. */
  readonly delayMs: number;
  /** Frames sent before the cut; null for all. */
  readonly cutAfter: number | null;
  /** Ends cleanly, or by a reset. */
  readonly clean: boolean;
}

/** Faults of a webhook. */
export interface WebhookFault {
  readonly never: boolean;
  readonly duplicate: boolean;
  /** Milliseconds on the service's clock. */
  readonly delayMs: number;
}

/** The job outcome that a rule forces, in place of the renderer's. */
export interface ForcedEnd {
  readonly job: ErrorBody | null;
  /** By position. */
  readonly outputs: ReadonlyMap<number, ErrorBody>;
  readonly fpsLateMs: number;
  readonly expireNow: boolean;
}

/** Where jobs, streams and webhooks query the fault rules. */
export interface JobFaults {
  /** How long a job's cost stays hidden after the charge. */
  costLateMs(job: JobSubject): number;
  /** Multiple of its price that a job is charged. */
  chargeFactor(job: JobSubject): number;
  /** Whether an idempotency key is treated as new. */
  forgetsKeys(job: JobSubject): boolean;
  /** Whether the wallet is checked before the idempotency key. */
  fundsBeforeKeys(job: JobSubject): boolean;
  /** Whether a delete fails this time. */
  failsDelete(job: JobSubject): boolean;
  /** The forced outcome of a job. */
  endOf(job: JobRow): ForcedEnd;
  stream(job: JobSubject): StreamFault | null;
  webhook(job: JobSubject): WebhookFault;
  /** Bytes of a download that are sent; null for all. */
  download(job: JobSubject): number | null;
}

/** The text of an input that prompt patterns match. */
export function promptOf(input: unknown): string | null {
  if (typeof input !== "object" || input === null) return null;
  const texts = ["prompt", "text", "name"].map((field) =>
    field in input ? (input as Record<string, unknown>)[field] : null,
  );
  const found = texts.filter((text) => typeof text === "string");
  return found.length === 0 ? null : found.join("\n");
}

function errorBody(code: ErrorCode, retryable: boolean): ErrorBody {
  const body = { code, message: "The model could not finish this work; it was refunded.", retryable };
  return retryable ? { ...body, retry_after: 1 } : body;
}

export function jobFaults(engine: FaultEngine): JobFaults {
  const subject = ({ model, prompt }: JobSubject): FaultSubject => ({ route: null, model, prompt });

  return {
    costLateMs: (job) => engine.strike("cost_late", subject(job))?.delay_ms ?? 0,
    chargeFactor: (job) => engine.strike("charge", subject(job))?.factor ?? 1,
    forgetsKeys: (job) => engine.strike("forget_key", subject(job)) !== null,
    fundsBeforeKeys: (job) => engine.strike("funds_before_keys", subject(job)) !== null,
    failsDelete: (job) => engine.strike("delete_unavailable", subject(job)) !== null,
    endOf(job) {
      const about = subject({ model: job.model, prompt: promptOf(JSON.parse(job.input)) });
      const whole = engine.strike("fail_job", about);
      const some = engine.strike("fail_output", about);
      return {
        job: whole && errorBody(whole.code, whole.retryable),
        outputs: new Map((some?.outputs ?? []).map((position) => [position, errorBody(some!.code, false)])),
        fpsLateMs: engine.strike("fps_late", about)?.delay_ms ?? 0,
        expireNow: engine.strike("expire_now", about) !== null,
      };
    },
    stream(job) {
      const slow = engine.strike("slow_stream", subject(job));
      const cut = engine.strike("cut_stream", subject(job));
      if (!slow && !cut) return null;
      return { delayMs: slow?.delay_ms ?? 0, cutAfter: cut?.after_frames ?? null, clean: cut?.clean ?? true };
    },
    webhook: (job) => ({
      never: engine.strike("webhook_never", subject(job)) !== null,
      duplicate: engine.strike("webhook_duplicate", subject(job)) !== null,
      delayMs: engine.strike("webhook_delay", subject(job))?.delay_ms ?? 0,
    }),
    download: (job) => engine.strike("truncate_download", subject(job))?.bytes ?? null,
  };
}
