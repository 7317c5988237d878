import { z } from "zod";
import { DAY_MS } from "../../core/kit/duration.ts";
import { readJsonFile } from "../../core/kit/file-handle.ts";
import { LocalServiceError } from "../errors.ts";
import { type ErrorCode, HTTP_STATUS } from "../http/refusal.ts";

/** Rules with an optional seed, as objects or as a JSON file. */
export type FaultsOption =
  | string
  | readonly FaultRule[]
  | { readonly rules: readonly FaultRule[]; readonly seed?: number };

export interface LoadedFaults {
  readonly rules: readonly ParsedRule[];
  readonly seed: number;
}

function readFile(path: string): unknown {
  try {
    return readJsonFile(path);
  } catch (cause) {
    throw new LocalServiceError("OPTION_INVALID", `The faults in ${path} cannot be read as JSON (${String(cause)}).`, {
      cause,
    });
  }
}

/** Loads and validates rules. @throws LocalServiceError `OPTION_INVALID` that names the first invalid field */
export function loadFaults(option: FaultsOption): LoadedFaults {
  const value = typeof option === "string" ? readFile(option) : option;
  const parsed = faultsBody.safeParse(Array.isArray(value) ? { rules: value } : value);
  if (parsed.success) return { rules: parsed.data.rules, seed: parsed.data.seed ?? 0 };
  const [issue] = parsed.error.issues;
  const where = issue?.path.join(".") ?? "";
  throw new LocalServiceError("OPTION_INVALID", `Faults are invalid at ${where}: ${issue?.message ?? "bad value"}.`);
}

const codes = Object.keys(HTTP_STATUS) as [ErrorCode, ...ErrorCode[]];
const ms = z.int().min(0).max(DAY_MS);
const count = z.int().min(0).max(1_000_000);

/** Which calls or jobs a rule applies to, and how often. All given conditions must be met. */
const match = {
  /** Route as in the table of endpoints, such as `POST /models/{model}`; every route if absent. */
  route: z.string().max(200).optional(),
  model: z.string().max(200).optional(),
  /** Regular expression that must match somewhere in the prompt (or text). */
  prompt: z.string().max(500).optional(),
  /** From 0 to 1; default 1. */
  probability: z.number().min(0).max(1).optional(),
  /** Maximum number of times that the rule applies; unlimited if absent. */
  count: count.optional(),
  /** Number of matches to skip first; default 0. */
  skip: count.optional(),
};

const objection = { param: z.string().max(200).optional(), category: z.string().max(100).optional() };

const rule = <Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, shape: Shape) =>
  z.strictObject({ kind: z.literal(kind), ...match, ...shape });

/** Every fault that can be injected. */
export const faultRule = z.discriminatedUnion("kind", [
  /** Waits, in real milliseconds, before the request is handled. */
  rule("delay", { delay_ms: ms }),
  /** Cuts the connection: before any work, or after the work but before the response (a lost acknowledgement). */
  rule("drop", { when: z.enum(["before", "after"]).default("before") }),
  /** Answers with an error instead of doing the work. `envelope: false` sends bare text, as a proxy would. */
  rule("error", {
    code: z.enum(codes).default("INTERNAL"),
    retry_after: z.int().min(0).max(86_400).optional(),
    status: z.int().min(400).max(599).optional(),
    envelope: z.boolean().default(true),
  }),
  /** Waits between the events of a stream. */
  rule("slow_stream", { delay_ms: ms }),
  /** Ends a stream after this many frames, without `done`: either cleanly or by a reset. */
  rule("cut_stream", { after_frames: count.default(1), clean: z.boolean().default(true) }),
  /** Cuts a download after this many bytes. */
  rule("truncate_download", { bytes: count.default(1) }),
  /** The job fails and is refunded; `param` and `category` say what moderation refused. A chat reports `CANCELLED` as `client_abort` and `DEADLINE_EXCEEDED` as `timeout`. */
  rule("fail_job", { code: z.enum(codes).default("INTERNAL"), retryable: z.boolean().default(true), ...objection }),
  /** The outputs at these positions fail and are refunded pro rata. */
  rule("fail_output", {
    outputs: z.array(count).max(100).default([0]),
    code: z.enum(codes).default("INTERNAL"),
    ...objection,
  }),
  /** Outputs are EXPIRED as soon as the job completes. */
  rule("expire_now", {}),
  /** The frame rate is null for this long after completion. */
  rule("fps_late", { delay_ms: ms }),
  /** The cost stays hidden for this long after the submit. */
  rule("cost_late", { delay_ms: ms }),
  /** Charges the job this multiple of its price, regardless of the quote. */
  rule("charge", { factor: z.number().min(0).max(100) }),
  /** A submit checks the wallet before its idempotency key. */
  rule("funds_before_keys", {}),
  /** The service forgets the idempotency key of a submit and creates a second job. */
  rule("forget_key", {}),
  /** A delete fails with 503, and must be requested again. */
  rule("delete_unavailable", {}),
  /** A webhook is sent twice. */
  rule("webhook_duplicate", {}),
  /** A webhook is sent this much later, on the service's clock; different delays change the order of webhooks. */
  rule("webhook_delay", { delay_ms: ms }),
  /** A webhook is never sent. */
  rule("webhook_never", {}),
]);

/** A rule as written, before defaults are filled. */
export type FaultRule = z.input<typeof faultRule>;
/** A rule with its defaults filled. */
export type ParsedRule = z.output<typeof faultRule>;
export type FaultKind = ParsedRule["kind"];

/** `POST /_local/faults`: replaces all rules; an empty list removes every fault. */
export const faultsBody = z.strictObject({
  rules: z.array(faultRule).max(1000),
  /** Seed of the random draws: the same seed triggers faults at the same matches. */
  seed: z.int().min(0).max(4_294_967_295).optional(),
});
