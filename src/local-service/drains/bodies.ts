import { validateHeaderName, validateHeaderValue } from "node:http";
import { z } from "zod";
import { httpUrl } from "../outbound/http-url.ts";

const MAX_HEADERS = 50;
const MAX_VALUE_LENGTH = 4096;

/** Headers set by the service or the connection. */
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
    if (!isHeader(name, value)) wrong([name], "is no header that a drain may set", "format");
  }
});

const fields = {
  name: z.string().min(1).max(100),
  url: httpUrl,
  format: z.enum(["ndjson", "otlp"]),
  secret: z.string().min(64).max(4096),
  headers,
  enabled: z.boolean(),
  batch_size: z.int().min(1).max(5000),
};

export const SECRET_REQUIRED = "is required for the format ndjson";

/** `POST /log-drains` */
export const newDrainBody = z
  .object({
    name: fields.name,
    url: fields.url,
    format: fields.format.nullish(),
    secret: fields.secret.nullish(),
    headers: fields.headers.nullish(),
    enabled: fields.enabled.nullish(),
    batch_size: fields.batch_size.nullish(),
  })
  .refine(({ format, secret }) => format === "otlp" || (secret !== null && secret !== undefined), {
    path: ["secret"],
    error: SECRET_REQUIRED,
    params: { reason: "required" },
    // Also checked when other fields are invalid: every problem is reported at once.
    when: ({ value }) => typeof value === "object" && value !== null,
  });

/** `PATCH /log-drains/{drain_id}`: absent fields stay unchanged. */
export const drainChanges = z.object({
  name: fields.name.nullish(),
  url: fields.url.nullish(),
  format: fields.format.nullish(),
  secret: fields.secret.nullish(),
  headers: fields.headers.nullish(),
  enabled: fields.enabled.nullish(),
  batch_size: fields.batch_size.nullish(),
});

export type NewDrainBody = z.output<typeof newDrainBody>;
export type DrainChanges = z.output<typeof drainChanges>;
