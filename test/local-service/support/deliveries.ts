import { expect } from "vitest";
import { verifyWebhook, type WebhookVerdict } from "../../../src/core/api/webhooks/verify-webhook.ts";
import type { LocalService } from "../../../src/local-service/index.ts";
import type { Received } from "../../support/receiver.ts";
import { ask, type Body, get, submit, until } from "./service.ts";

/** The delivery record of a job, requested with the first key. */
export async function deliveryOf(service: LocalService, jobId: string): Promise<Body> {
  const { body } = await get(service, "/webhooks/deliveries?limit=100");
  return body.data.find((row: Body) => row.job_id === jobId);
}

/** Waits until the job's delivery satisfies the condition. */
export async function deliveryUntil(
  service: LocalService,
  jobId: string,
  isDone: (row: Body) => boolean,
): Promise<Body> {
  const rowOf = (body: Body) => body.data.find((row: Body) => row.job_id === jobId);
  const body = await until(service, "/webhooks/deliveries?limit=100", (page) => isDone(rowOf(page)));
  return rowOf(body);
}

/** Waits until this many attempts have ended. */
export const ended = (service: LocalService, jobId: string, attempts: number): Promise<Body> =>
  deliveryUntil(service, jobId, (row) => row.attempts === attempts && row.status !== "DELIVERING");

/** Submits an image job with a webhook and returns its id. */
export async function announced(service: LocalService, webhook: string | null, prompt = "x"): Promise<string> {
  return (await submit(service, "image-1", { prompt }, { webhook })).job_id;
}

export const redeliver = (service: LocalService, jobId: string) =>
  ask(service, "POST", `/webhooks/deliveries/${jobId}/redeliver`, { body: {} });

/** The verdict of the client's own verification, which shares no code with the service. */
export async function verdictOf(service: LocalService, post: Received): Promise<WebhookVerdict> {
  const { body } = await get(service, "/webhooks/public-key", { credential: null });
  const { headers } = post;
  return verifyWebhook({ headers, body: post.body, publicKey: body.public_key, now: service.clock.now() });
}

/** The verified event of a POST; fails the test when it is not genuine. */
export async function eventOf(service: LocalService, post: Received | undefined) {
  const verdict = await verdictOf(service, post!);
  expect(verdict).toMatchObject({ ok: true });
  if (!verdict.ok) throw new Error(verdict.reason);
  return verdict.event;
}

export const bodyOf = (post: Received | undefined): Body => JSON.parse(String(post?.body));
