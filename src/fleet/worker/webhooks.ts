import { type AccountEvent, createWebhookHandler, type WebhookHandlerOptions } from "../../core/api/index.ts";
import { formatUsd } from "../../core/kit/money.ts";
import type { Showrunner } from "../../index.ts";
import type { Engine } from "./engine.ts";

/** Options for `createWebhookReceiver`. */
export interface WebhookReceiverOptions
  extends Pick<WebhookHandlerOptions, "publicKey" | "brand" | "maxBytes" | "toleranceMs" | "clock" | "logger"> {
  /** The Showrunner whose client provides the signing key and whose journal gets the messages. */
  readonly show: Showrunner;
  /**
   * The engine, which wakes a run as soon as a delivery about one of its jobs arrives. Without it, the process that
   * executes the run notices the delivery within seconds.
   */
  readonly engine?: Pick<Engine, "wake"> | undefined;
  /** Called with the outcome of each genuine delivery about a job. */
  readonly onDelivery?:
    | ((jobId: string, hinted: Awaited<ReturnType<Showrunner["engine"]["hint"]>>) => void)
    | undefined;
  /** Called with a human-readable message on each genuine delivery that is not about a job. */
  readonly onNews?: ((message: string) => void) | undefined;
}

/** Delay before a webhook's job is looked up a second time, in case the webhook arrived before the job was recorded. */
const AGAIN_MS = 2_000;

/**
 * Creates a Fetch-style handler for the webhooks of all runs in the journal. It works in any process and sends the same
 * responses as a handler from `createWebhookHandler`. Each genuine delivery about a job adds one hint to the inbox of
 * its run. The run then reads the job's state from the service.
 */
export function createWebhookReceiver(options: WebhookReceiverOptions): (request: Request) => Promise<Response> {
  const { show, engine, onDelivery, onNews, ...checks } = options;
  const tell = async (id: string, jobId: string) => {
    const hinted = await show.engine.hint({ id, jobId });
    onDelivery?.(jobId, hinted);
    for (const runId of hinted.runIds) await engine?.wake(runId);
    return hinted.outcome;
  };
  return createWebhookHandler({
    ...checks,
    client: show.client,
    // Remembers nothing, because the journal remembers deliveries for all processes.
    seen: { has: async () => false, add: async () => {} },
    async onAccountEvent(event) {
      const message = newsOf(event);
      onNews?.(message);
      if (show.notifications.target === null) return;
      // If this handler throws, the service delivers the event again.
      const { id, event: name } = event;
      const error = await show.notifications.tell({ id, event: name, message, next: null });
      if (error !== null) throw new Error(error);
    },
    async onEvent({ id, job: { jobId }, redelivery, signedAt }) {
      const name = redelivery ? `${id} redelivered ${signedAt}` : id;
      if ((await tell(name, jobId)) !== "early") return;
      setTimeout(() => void tell(name, jobId).catch(() => {}), AGAIN_MS).unref();
    },
  });
}

function newsOf({ event, topOffFailure }: AccountEvent): string {
  if (topOffFailure === null)
    return `The service sent the event ${event}, which this version of Showrunner does not support.`;
  const { reason, amountAttemptedMicros, balanceMicros } = topOffFailure;
  const [amount, balance] = [amountAttemptedMicros, balanceMicros].map(formatUsd);
  return `The automatic top-up of the wallet by $${amount} failed (${reason}); $${balance} is left. Runs pause when the balance is spent: add funds or update the payment method in the service's console.`;
}
