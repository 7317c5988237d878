import { formatUsd, type JournalError, type StoredEvent } from "../index.ts";

/** Something that did not go straight: what it was, and what was done about it. */
export interface Incident {
  readonly at: number;
  /** Null when it concerns the whole run. */
  readonly step: string | null;
  readonly what: string;
  readonly why: string;
  /** What it cost, where that is known. */
  readonly costMicros: number | null;
}

/** Retries, waits, refusals, pauses and crashes of a run, in order of time. */
export function incidentsOf(events: readonly StoredEvent[]): readonly Incident[] {
  const costs = costsOf(events);
  return events.flatMap((stored): readonly Incident[] => {
    const found = incident(stored.event, costs);
    const step = "step" in stored.event && typeof stored.event.step === "string" ? stored.event.step : null;
    return found === null ? [] : [{ at: stored.at, step, costMicros: null, ...found }];
  });
}

type Said = { readonly what: string; readonly why: string; readonly costMicros?: number | null };

const withdrawn = {
  funds: "The wallet could not pay for it; nothing was charged, and it was sent again once it could.",
  expired: "A file that it uses had expired at the service; it was uploaded again, free of charge.",
  unsent: "The service could not be reached; nothing had been sent.",
  credentials: "The service did not take the key for it; nothing was made.",
} as const;

function incident(event: StoredEvent["event"], costs: ReadonlyMap<string, number>): Said | null {
  switch (event.type) {
    case "lease.taken":
      return event.epoch < 2
        ? null
        : { what: "taken up again", why: "Another process, or a later one, went on where the journal ended." };
    case "run.paused":
      return { what: `paused: ${event.reason}`, why: event.message };
    case "service.away":
      return { what: event.reason === "misdirected" ? "something else answered" : "service away", why: event.message };
    case "service.back":
      return { what: "service back", why: "" };
    case "job.found":
      return { what: "found again", why: "The service shows its job again." };
    case "run.resumed":
      return { what: "resumed", why: "" };
    case "run.budget.set":
      return {
        what: "allowed another amount",
        why: event.budgetMicros === null ? "No budget." : `A budget of $${formatUsd(event.budgetMicros)}.`,
      };
    case "job.failed": {
      const retried =
        costs.has(`${event.step} ${event.attempt + 1}`) || costs.has(`sent ${event.step} ${event.attempt + 1}`);
      const costMicros = costs.get(`${event.step} ${event.attempt}`) ?? null;
      return {
        what: `attempt ${event.attempt} failed${retried ? ", tried again" : ""}`,
        why: said(event.error),
        costMicros,
      };
    }
    case "job.submit.refused":
      return { what: `attempt ${event.attempt} refused`, why: event.error.message };
    case "job.submit.unknown":
      return {
        what: "no answer to the submit",
        why: `${event.message} Asked again with the same body and key, so that it cannot be paid for twice.`,
      };
    case "job.submit.withdrawn":
      return { what: "submit put back", why: withdrawn[event.reason] };
    case "job.unresolved":
      return { what: "needs a decision", why: event.message };
    case "job.adopted":
      return {
        what: "decided by a person",
        why: event.jobId === null ? "The submit made no job." : `The submit made ${event.jobId}.`,
      };
    case "output.expired":
      return { what: `output ${event.index} expired at the service`, why: "" };
    case "chat.failed":
      return { what: "the model's answer was of no use", why: said(event.error), costMicros: event.costMicros };
    case "chat.abandoned":
      return {
        what: "a question without an answer",
        why: `The process that asked is gone. It may have cost up to $${formatUsd(event.holdMicros)}; it was asked again.`,
      };
    case "task.failed":
      return { what: "a local task failed", why: said(event.error) };
    case "job.hold.raised":
      return {
        what: "held at what it will really cost",
        why: `Its model charges above its quotes: $${formatUsd(event.holdMicros)} are reserved.`,
      };
    case "price.learned":
      return { what: "holds raised", why: `${event.model} charged more than it quoted in run ${event.runId}.` };
    case "job.settled": {
      const quoted = costs.get(`quoted ${event.step} ${event.attempt}`);
      if (quoted === undefined || event.costMicros <= quoted) return null;
      const why = `Quoted at $${formatUsd(quoted)}; holds of later jobs of its model were raised.`;
      return { what: "charged above its quote", why, costMicros: event.costMicros };
    }
    case "approval.decided":
      return { what: event.approved ? "approved" : "rejected", why: event.note ?? "" };
    case "step.reused":
      return { what: "taken over", why: `Run ${event.from.runId} had made the very same, as ${event.from.step}.` };
    case "step.reset":
      return { what: "made again", why: event.why };
    case "step.restored":
      return { what: "kept after all", why: "What it uses was made again and is the same as before." };
    case "run.account.moved":
      return { what: "moved with its account", why: `To key ${event.keyId} at ${event.baseUrl}.` };
    case "rerun.requested":
      return { what: "asked to make steps again", why: event.steps.join(", ") };
    case "run.reopened":
      return { what: "opened again", why: "Steps of a run that was through are made again." };
    case "run.replanned":
      return { what: "took up changed code", why: "" };
    default:
      return null;
  }
}

function said({ code, message }: JournalError): string {
  return `${code}: ${message}`;
}

function costsOf(events: readonly StoredEvent[]): ReadonlyMap<string, number> {
  const costs = new Map<string, number>();
  for (const { event } of events) {
    if (event.type === "job.quoted" && event.costMicros !== null)
      costs.set(`quoted ${event.step} ${event.attempt}`, event.costMicros);
    if (event.type === "job.settled") costs.set(`${event.step} ${event.attempt}`, event.costMicros);
    if (event.type === "job.submit.intended") costs.set(`sent ${event.step} ${event.attempt}`, 0);
  }
  return costs;
}
