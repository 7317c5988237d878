import type { Clock } from "../../api/index.ts";
import type { RunNotification } from "../../api/webhooks/verify-webhook.ts";
import { type StoredEvent, specOf } from "../../journal/events.ts";
import type { RunState } from "../../journal/state.ts";
import type { JournalStore, NewNotice, NoticeRow } from "../../journal/store.ts";
import { redactUrls } from "../../kit/clean-text.ts";
import { HOUR_MS } from "../../kit/duration.ts";
import { formatUsd } from "../../kit/money.ts";
import type { Send } from "./send.ts";

/** Longer messages are cut, because the receiver may be a phone. */
const MOST_CHARACTERS = 2_000;

export function noticesOf(state: RunState, events: readonly StoredEvent[]): readonly NewNotice[] {
  return events.flatMap(({ seq, at, event }): readonly NewNotice[] => {
    const news = specOf(event).notice?.(event, state) ?? null;
    if (news === null) return [];
    const body: RunNotification = {
      id: noticeId(state.runId, seq),
      run: state.runId,
      pipeline: state.planned.plan.pipeline,
      title: state.planned.title ?? null,
      at: new Date(at).toISOString(),
      ...news,
      message: news.message === null ? null : redactUrls(news.message).slice(0, MOST_CHARACTERS),
      cost_usd: formatUsd(state.spentMicros),
    };
    return [{ seq, event: news.event, body: JSON.stringify(body) }];
  });
}

export function noticeId(runId: string, seq: number): string {
  return `${runId}:${seq}`;
}

export interface NotifierParts {
  readonly store: JournalStore;
  readonly clock: Clock;
  readonly send: Send;
}

export const ATTEMPT_MS = 10_000;
/** How long a claim on a notification is valid, in milliseconds. It must be longer than a delivery attempt. */
const CLAIM_MS = 15_000;
const POLL_EVERY_MS = 5_000;
const AT_ONCE = 10;
const RETRY_AFTER_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000] as const;
const THEN_EVERY_MS = HOUR_MS;

export function retryAfterMs(attempts: number): number {
  return RETRY_AFTER_MS[attempts - 1] ?? THEN_EVERY_MS;
}

export class Notifier {
  readonly #parts: NotifierParts;
  readonly #closing = new AbortController();
  #wake: AbortController | null = null;
  #loop: Promise<void> | null = null;

  constructor(parts: NotifierParts) {
    this.#parts = parts;
  }

  poke(): void {
    if (this.#closing.signal.aborted) return;
    this.#loop ??= this.#run();
    this.#wake?.abort();
  }

  async deliverDue(): Promise<void> {
    const { store, clock } = this.#parts;
    for (;;) {
      const at = clock.now();
      const due = await store.claimNotices({ at, untilAt: at + CLAIM_MS, limit: AT_ONCE });
      if (due.length === 0) return;
      await Promise.all(due.map((notice) => this.#tell(notice)));
    }
  }

  async close(): Promise<void> {
    if (this.#loop === null) return;
    this.#closing.abort();
    this.#wake?.abort();
    await this.#loop;
    await this.deliverDue().catch(() => {});
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      this.#wake = new AbortController();
      // Ignore errors of the journal. The process that drives a run reports them.
      await this.deliverDue().catch(() => {});
      if (this.#closing.signal.aborted) return;
      await this.#rest(this.#wake.signal);
    }
  }

  /** Waits without keeping the process alive, because a later process can deliver what is left. */
  #rest(wake: AbortSignal): Promise<void> {
    return new Promise((done) => {
      if (wake.aborted) return done();
      const timer = this.#parts.clock.setTimer(POLL_EVERY_MS, done, { background: true });
      wake.addEventListener("abort", () => {
        timer.cancel();
        done();
      });
    });
  }

  async #tell({ runId, seq, event, body, attempts }: NoticeRow): Promise<void> {
    const { store, clock, send } = this.#parts;
    const id = noticeId(runId, seq);
    const delivery = { id, event, body, attempt: attempts, at: clock.now() };
    const error = await send(delivery, AbortSignal.timeout(ATTEMPT_MS)).catch(String);
    const dueAt = clock.now() + retryAfterMs(attempts);
    await store.resolveNotice(runId, seq, error === null ? { delivered: true } : { delivered: false, dueAt, error });
  }
}
