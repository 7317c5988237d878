import { z } from "zod";
import { parseJson } from "../redactor.ts";
import { verifySignature, type WebhookDelivery, type WebhookRefusal } from "./verify-webhook.ts";

const notification = z.object({
  id: z.string(),
  event: z.string(),
  run: z.string().nullable(),
  pipeline: z.string().nullable(),
  at: z.string(),
  status: z.string().nullable(),
  reason: z.string().nullable(),
  message: z.string().nullable(),
  step: z.string().nullable(),
  cost_usd: z.string().nullable(),
  next: z.string().nullable(),
});

/** What Showrunner told of a run: see docs/notifications.md. */
export type RunNotification = z.output<typeof notification>;

export type NotificationVerdict =
  | { readonly ok: true; readonly notification: RunNotification }
  | { readonly ok: false; readonly reason: WebhookRefusal };

/**
 * Checks one notification of Showrunner's own (`notify`): signature, time and shape, with the public key that `showrunner
 * notify key` prints. Dedupe on `notification.id`. Never throws.
 */
export function verifyNotification(delivery: WebhookDelivery): NotificationVerdict {
  const verdict = verifySignature(delivery);
  if (!verdict.ok) return verdict;
  const read = notification.safeParse(parseJson(Buffer.from(delivery.body).toString("utf8")));
  return read.success ? { ok: true, notification: read.data } : { ok: false, reason: "malformed-body" };
}
