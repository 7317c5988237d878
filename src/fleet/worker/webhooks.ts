import { type AccountEvent, createWebhookHandler, type WebhookHandlerOptions } from "../../core/api/index.ts";
import { formatUsd, type Showrunner } from "../../internal.ts";
import type { Engine } from "./engine.ts";

export interface WebhookReceiverOptions
  extends Pick<WebhookHandlerOptions, "publicKey" | "brand" | "maxBytes" | "toleranceMs" | "clock" | "logger"> {
  readonly show: Showrunner;
  /** Gives the run a slice at once. Default: its message in the journal is found by whoever drives it, within seconds. */
  readonly engine?: Pick<Engine, "wake"> | undefined;
  /** Called for each genuine delivery, and what became of it. */
  readonly onDelivery?:
    | ((jobId: string, hinted: Awaited<ReturnType<Showrunner["engine"]["hint"]>>) => void)
    | undefined;
  /** Called for each genuine delivery that is of no job, with a sentence for people. */
  readonly onNews?: ((message: string) => void) | undefined;
}

/** The commit that brings a job may be under way when its webhook comes: looked at once more after so long, milliseconds. */
const AGAIN_MS = 2_000;

/**
 * Takes webhooks for the jobs of all runs of the journal, at any of its processes: a handler of the Fetch kind that answers
 * as `createWebhookHandler` does. A genuine delivery puts a hint into the inbox of the run that knows the job, once over all
 * processes. It changes nothing else: what became of a job is read from the service.
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
    // The journal knows which were seen, for all processes.
    seen: { has: async () => false, add: async () => {} },
    async onAccountEvent(event) {
      const message = newsOf(event);
      onNews?.(message);
      if (show.notifications.target === null) return;
      // What is not taken is delivered again by the service.
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
  if (topOffFailure === null) return `The service reports ${event}, which this version does not know.`;
  const { reason, amountAttemptedMicros, balanceMicros } = topOffFailure;
  const [amount, balance] = [amountAttemptedMicros, balanceMicros].map(formatUsd);
  return `The automatic top-up of the wallet by $${amount} failed (${reason}); $${balance} are left. Runs pause once that is spent: add funds, or mend the payment method, in the service's console.`;
}
