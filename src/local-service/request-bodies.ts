import { validateHeaderName, validateHeaderValue } from "node:http";
import { z } from "zod";
import { SCOPES } from "./access/authenticate.ts";

const name = z.string().min(1).max(100);
const scopes = z.array(z.enum(SCOPES)).max(SCOPES.length).nullish();
const DAY_SECONDS = 86_400;

export const TOKEN_TTL_SECONDS = { default: 3_600, max: DAY_SECONDS } as const;
/** How long the old secret stays valid after a key is rotated. */
export const GRACE_SECONDS = { default: DAY_SECONDS, max: 30 * DAY_SECONDS } as const;

export const newKeyBody = z.object({
  name: name.nullish(),
  scopes,
  kind: z.enum(["personal", "service"]).nullish(),
  workspace_id: z.string().max(100).nullish(),
  expires_at: z.iso.datetime({ offset: true }).nullish(),
});

export const rotateBody = z.object({ grace_period_seconds: z.int().min(0).max(GRACE_SECONDS.max).nullish() });

export const newTokenBody = z.object({ ttl_seconds: z.int().min(1).max(TOKEN_TTL_SECONDS.max).nullish(), scopes });

export const MAX_URL_LENGTH = 8192;
export const TOO_LONG = `has more than ${MAX_URL_LENGTH} characters`;

/** An http or https URL. Whether its address is allowed is checked only when the service sends a request. */
export const httpUrl = z
  .string()
  .max(MAX_URL_LENGTH, { error: TOO_LONG, abort: true })
  .check(z.url({ protocol: /^https?$/, error: "is not an http or https URI" }));

/** Body of a submit request. The model's own schema validates `input`. */
export const submitBody = z.object({
  input: z.unknown(),
  webhook: httpUrl.nullish().describe("URL that receives the signed event when the job ends."),
  idempotency_key: z
    .string()
    .min(1)
    .max(1024)
    .nullish()
    .describe("A retry with the same key returns the original acknowledgment."),
});

export const defaultWebhookBody = z.object({ url: httpUrl, enabled: z.boolean().nullish() });

const MAX_HEADERS = 50;
const MAX_VALUE_LENGTH = 4096;

/** Headers that callers cannot set, because the service or the connection sets them. */
const RESERVED =
  /^(content-type|content-length|content-encoding|host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|x-.+-signature)$/i;

function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return !RESERVED.test(name) && value.length <= MAX_VALUE_LENGTH;
  } catch {
    return false;
  }
}

const headers = z.record(z.string().max(128), z.string()).superRefine((record, context) => {
  const entries = Object.entries(record);
  const wrong = (path: string[], message: string, reason: string) =>
    context.addIssue({ code: "custom", path, message, params: { reason } });
  if (entries.length > MAX_HEADERS) wrong([], `has more than ${MAX_HEADERS} headers`, "maximum");
  for (const [name, value] of entries) {
    if (!isHeader(name, value)) wrong([name], "is not a header that a drain can set", "format");
  }
});

const settings = {
  format: z.enum(["ndjson", "otlp"]).nullish(),
  secret: z.string().min(64).max(4096).nullish(),
  headers: headers.nullish(),
  enabled: z.boolean().nullish(),
  batch_size: z.int().min(1).max(5000).nullish(),
};

export const SECRET_REQUIRED = "is required for the format ndjson";

export const newDrainBody = z
  .object({ name, url: httpUrl, ...settings })
  .refine(({ format, secret }) => format === "otlp" || (secret !== null && secret !== undefined), {
    path: ["secret"],
    error: SECRET_REQUIRED,
    params: { reason: "required" },
    // Runs even if other fields are invalid, so that every problem is reported.
    when: ({ value }) => typeof value === "object" && value !== null,
  });

export const drainChanges = z.object({ name: name.nullish(), url: httpUrl.nullish(), ...settings });

export type NewDrainBody = z.output<typeof newDrainBody>;
export type DrainChanges = z.output<typeof drainChanges>;

export const walletBody = z.strictObject({
  workspace_id: name.optional(),
  add: z.number().min(0).max(1e9).optional(),
  card_declined: z.boolean().optional(),
  /** Amount of an automatic top-off, in dollars. The top-off fails if the card is declined. */
  top_off: z.number().min(0).max(1e9).optional(),
});

export const keyBody = z.strictObject({
  workspace_id: name.optional(),
  owner_id: name.optional(),
  scopes,
  key_id: name.optional(),
  secret: z.string().min(8).max(200).optional(),
});

export const memberBody = z.strictObject({
  workspace_id: name.optional(),
  owner_id: name.optional(),
  /** True if the owner left the workspace, false if the owner rejoined. */
  left: z.boolean(),
});

export const renderBody = z.object({
  kind: z.enum(["image", "video", "speech"]),
  index: z.int().min(0).max(100),
  seed: z.int().min(0),
  input: z
    .record(z.string(), z.unknown())
    .describe("Input for the renderer, such as prompt, text, aspect_ratio and duration_ms"),
});

export const clockBody = z.strictObject({
  mode: z.enum(["real", "scaled", "manual"]).optional(),
  factor: z.number().positive().max(1e6).optional(),
  advance_ms: z.number().min(0).max(1e12).optional(),
});
