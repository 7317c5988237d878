import type { JournalError, Json, PriceBasis, StoredEvent } from "../index.ts";

/** One submit of a step and what became of it. */
export interface Attempt {
  readonly n: number;
  quoteMicros: number | null;
  basis: PriceBasis | null;
  model: string | null;
  jobId: string | null;
  /** What was sent, with uploads by hash. */
  input: Json | null;
  costMicros: number | null;
  error: JournalError | null;
  intendedAt: number | null;
  endedAt: number | null;
}

/** Every attempt that was sent, by step path, in order. */
export function attemptsOf(events: readonly StoredEvent[]): ReadonlyMap<string, readonly Attempt[]> {
  const byStep = new Map<string, Map<number, Attempt>>();
  for (const { at, event } of events) {
    if (!("attempt" in event)) continue;
    const own = byStep.get(event.step) ?? new Map<number, Attempt>();
    byStep.set(event.step, own);
    const attempt = own.get(event.attempt) ?? blank(event.attempt);
    own.set(event.attempt, attempt);
    learn(attempt, event, at);
  }
  const sent = (all: Map<number, Attempt>) => [...all.values()].filter(({ intendedAt }) => intendedAt !== null);
  return new Map([...byStep].map(([step, all]) => [step, sent(all).sort((a, b) => a.n - b.n)]));
}

type OfAttempt = Extract<StoredEvent["event"], { readonly attempt: number }>;

function learn(attempt: Attempt, event: OfAttempt, at: number): void {
  switch (event.type) {
    case "job.quoted":
      attempt.quoteMicros = event.costMicros;
      attempt.basis = event.basis;
      return;
    case "chat.intended":
      attempt.quoteMicros = event.holdMicros;
      attempt.basis = "unquotable";
      attempt.model = event.model;
      attempt.input = event.input;
      attempt.intendedAt ??= at;
      return;
    case "job.submit.intended":
      attempt.model = event.model;
      attempt.input = event.input;
      attempt.intendedAt ??= at;
      return;
    case "job.submitted":
    case "job.adopted":
      attempt.jobId = event.jobId;
      return;
    case "job.submit.refused":
    case "job.failed":
      attempt.error = event.error;
      attempt.endedAt = at;
      return;
    case "chat.failed":
      attempt.error = event.error;
      attempt.costMicros = event.costMicros;
      attempt.endedAt = at;
      return;
    case "chat.answered":
      attempt.costMicros = event.costMicros;
      attempt.endedAt = at;
      return;
    case "chat.abandoned":
    case "job.completed":
      attempt.endedAt = at;
      return;
    case "job.settled":
      attempt.costMicros = event.costMicros;
      return;
    default:
  }
}

function blank(n: number): Attempt {
  return {
    n,
    quoteMicros: null,
    basis: null,
    model: null,
    jobId: null,
    input: null,
    costMicros: null,
    error: null,
    intendedAt: null,
    endedAt: null,
  };
}
