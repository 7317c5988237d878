import { z } from "zod";
import { DAY_MS } from "../../core/kit/duration.ts";
import { readJsonFile } from "../../core/kit/files.ts";
import { LocalServiceError } from "../errors.ts";
import { type ErrorCode, HTTP_STATUS } from "../http/refusal.ts";

/** Fault rules with an optional seed, as objects or as the path of a JSON file. */
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
    const message = `The faults in ${path} cannot be read as JSON (${String(cause)}). Correct the path or the file.`;
    throw new LocalServiceError("OPTION_INVALID", message, { cause });
  }
}

export function loadFaults(option: FaultsOption): LoadedFaults {
  const value = typeof option === "string" ? readFile(option) : option;
  const parsed = faultsBody.safeParse(Array.isArray(value) ? { rules: value } : value);
  if (parsed.success) return { rules: parsed.data.rules, seed: parsed.data.seed ?? 0 };
  const [issue] = parsed.error.issues;
  const at = issue?.path.length ? ` at ${issue.path.join(".")}` : "";
  throw new LocalServiceError("OPTION_INVALID", `The faults are invalid${at}: ${issue?.message ?? "bad value"}.`);
}

const codes = Object.keys(HTTP_STATUS) as [ErrorCode, ...ErrorCode[]];
const ms = z.int().min(0).max(DAY_MS);
const count = z.int().min(0).max(1_000_000);

/** Conditions of a rule. The rule applies if all the given conditions are met. */
const match = {
  /** Route, such as `POST /models/{model}`. Default: every route. */
  route: z.string().max(200).optional(),
  model: z.string().max(200).optional(),
  /** Regular expression that must match part of the job's prompt or text. */
  prompt: z.string().max(500).optional(),
  /** Probability from 0 to 1 that a match triggers the fault. Default: 1. */
  probability: z.number().min(0).max(1).optional(),
  /** Maximum number of times that the rule applies. Default: no limit. */
  count: count.optional(),
  /** Number of matches to skip before the rule applies. Default: 0. */
  skip: count.optional(),
};

const objection = { param: z.string().max(200).optional(), category: z.string().max(100).optional() };

const rule = <Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, shape: Shape) =>
  z.strictObject({ kind: z.literal(kind), ...match, ...shape });

const faultRule = z.discriminatedUnion("kind", [
  /** Waits `delay_ms` milliseconds of real time before the request is handled. */
  rule("delay", { delay_ms: ms }),
  /** Cuts the connection, either before the request is handled or afterward, so that only the response is lost. */
  rule("drop", { when: z.enum(["before", "after"]).default("before") }),
  /** Responds with an error instead of handling the request. `envelope: false` sends plain text, as a proxy would. */
  rule("error", {
    code: z.enum(codes).default("INTERNAL"),
    retry_after: z.int().min(0).max(86_400).optional(),
    status: z.int().min(400).max(599).optional(),
    envelope: z.boolean().default(true),
  }),
  /** Waits `delay_ms` real milliseconds between the events of a stream. */
  rule("slow_stream", { delay_ms: ms }),
  /** Ends a stream after `after_frames` frames, without `done`: either cleanly or by resetting the connection. */
  rule("cut_stream", { after_frames: count.default(1), clean: z.boolean().default(true) }),
  /** Cuts a download after `bytes` bytes. */
  rule("truncate_download", { bytes: count.default(1) }),
  /** The job fails and is refunded. `param` and `category` state what moderation rejected. In a chat, the code `CANCELLED` becomes `client_abort`, and `DEADLINE_EXCEEDED` becomes `timeout`. */
  rule("fail_job", { code: z.enum(codes).default("INTERNAL"), retryable: z.boolean().default(true), ...objection }),
  /** Fails the outputs at the positions in `outputs`, counted from 0, and refunds their share of the price. */
  rule("fail_output", {
    outputs: z.array(count).max(100).default([0]),
    code: z.enum(codes).default("INTERNAL"),
    ...objection,
  }),
  /** The outputs expire as soon as the job completes. */
  rule("expire_now", {}),
  /** The frame rate of the outputs stays null until `delay_ms` milliseconds after the job completes. */
  rule("fps_late", { delay_ms: ms }),
  /** The job's cost stays hidden until `delay_ms` milliseconds after the job is submitted. */
  rule("cost_late", { delay_ms: ms }),
  /** Charges the job's price times `factor`, regardless of the quote. */
  rule("charge", { factor: z.number().min(0).max(100) }),
  /** The service checks the wallet before the idempotency key of a submitted job. */
  rule("funds_before_keys", {}),
  /** The service forgets the idempotency key of a submitted job, and creates a second job. */
  rule("forget_key", {}),
  /** A request to delete a job fails with 503, and must be repeated. */
  rule("delete_unavailable", {}),
  /** A webhook is sent twice. */
  rule("webhook_duplicate", {}),
  /** Delays a webhook by `delay_ms`, on the service's clock. Different delays change the order of webhooks. */
  rule("webhook_delay", { delay_ms: ms }),
  /** The webhook of a job is not sent at all. */
  rule("webhook_never", {}),
]);

/** A fault rule as a caller writes it. Fields with a default may be omitted. */
export type FaultRule = z.input<typeof faultRule>;
export type ParsedRule = z.output<typeof faultRule>;
export type FaultKind = ParsedRule["kind"];

export const faultsBody = z.strictObject({
  rules: z.array(faultRule).max(1000),
  /** Seed for the random choices of the rules, which makes faults repeatable. */
  seed: z.int().min(0).max(4_294_967_295).optional(),
});
