import { z } from "zod";
import { currency, integer, listOf, micros, optionalMicros, text, withDefault } from "./lenient.ts";

export interface Balance {
  readonly balanceMicros: number;
  readonly currency: string;
  readonly spentMicros: number | null;
}

export interface Usage {
  readonly start: string | null;
  readonly end: string | null;
  readonly groupBy: string | null;
  readonly totalJobs: number | null;
  readonly totalSpentMicros: number | null;
  readonly currency: string;
  readonly data: readonly { readonly key: string; readonly jobs: number; readonly spentMicros: number }[];
}

export interface UploadHandle {
  /** The handle: give it back as it is, query included. Presigned, so a secret. */
  readonly url: string;
  readonly contentType: string;
  readonly expiresAt: string;
}

export const balance = z
  .object({ balance: micros, currency, spent: optionalMicros })
  .transform((wire): Balance => ({ balanceMicros: wire.balance, currency: wire.currency, spentMicros: wire.spent }));

const usageRow = z
  .object({ key: withDefault(z.string(), ""), jobs: withDefault(z.number(), 0), spent: micros })
  .transform((wire) => ({ key: wire.key, jobs: wire.jobs, spentMicros: wire.spent }));

export const usage = z
  .object({
    start: text,
    end: text,
    group_by: text,
    total_jobs: integer,
    total_spent: optionalMicros,
    currency,
    data: listOf(usageRow),
  })
  .transform(
    (wire): Usage => ({
      start: wire.start,
      end: wire.end,
      groupBy: wire.group_by,
      totalJobs: wire.total_jobs,
      totalSpentMicros: wire.total_spent,
      currency: wire.currency,
      data: wire.data,
    }),
  );

export const uploadHandle = z
  .object({
    url: z.string().min(1),
    content_type: withDefault(z.string(), "application/octet-stream"),
    expires_at: z.string(),
  })
  .transform((wire): UploadHandle => ({ url: wire.url, contentType: wire.content_type, expiresAt: wire.expires_at }));
