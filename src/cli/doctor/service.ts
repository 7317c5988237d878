import { dollars } from "../../money.ts";
import { type Context, type ServiceFlags, withShowrunner } from "../context.ts";
import { explainError } from "../explain-error.ts";
import { duration } from "../text/duration.ts";
import { visible } from "../text/escape.ts";
import { type Finding, failed, fine, unknown } from "./finding.ts";
import { type WebhookTarget, webhookFindings } from "./webhook.ts";

/** `Date` has whole seconds, and the answer took its time: so much says nothing. */
const NO_SKEW_MS = 2_000;
/** Webhooks older than this are refused by those who check their age. */
const MUCH_SKEW_MS = 60_000;

/** Whether the service can be reached, what the wallet holds, and whether both clocks agree. */
export async function serviceFindings(
  context: Context,
  flags: ServiceFlags,
  target: WebhookTarget | null,
): Promise<readonly Finding[]> {
  try {
    return await withShowrunner(flags, async (show) => {
      const began = performance.now();
      const { balanceMicros, currency } = await show.balance();
      const took = duration(performance.now() - began);
      return [
        fine("service", `${show.service.kind} ${show.service.baseUrl}, answered in ${took}`),
        fine("balance", `${dollars(balanceMicros)} ${currency}`),
        clock(show.client.clockOffsetMs()),
        ...(await webhookFindings(context, show.client, target)),
      ];
    });
  } catch (error) {
    const { message, next } = explainError(error, { env: context.io.env });
    return [failed("service", message, next), unknown("webhooks", "not checked: the service did not answer")];
  }
}

function clock(offsetMs: number): Finding {
  const ahead = `the service's clock is ${duration(Math.abs(offsetMs))} ${offsetMs > 0 ? "ahead of" : "behind"} this one`;
  if (Math.abs(offsetMs) <= NO_SKEW_MS) return fine("clock", "agrees with the service's");
  if (Math.abs(offsetMs) <= MUCH_SKEW_MS) return fine("clock", ahead);
  return failed("clock", ahead, visible("set this machine's clock (NTP): webhooks and presigned URLs depend on it"));
}
