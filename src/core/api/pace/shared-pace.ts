import type { Clock, Timer } from "../clock.ts";
import type { Bucket, RateLimit } from "./bucket.ts";

/** Divides a key's limit between processes: each asks for what it needs, and keeps to what it is granted. */
export interface SharedPace {
  share(request: ShareRequest): Promise<ShareGrant>;
}

export interface ShareRequest {
  /** The limit as far as this process knows it. */
  readonly limit: RateLimit | null;
  /** Nothing may be sent for so long, as an answer said, milliseconds. */
  readonly pauseMs: number;
  /** Requests that a window may still count, with those that may leave while this is asked: the grant is not below them. */
  readonly used: number;
  /** Requests that it would send within a window. */
  readonly wanted: number;
  readonly ttlMs: number;
}

export interface ShareGrant {
  readonly limit: RateLimit | null;
  /** Requests within any window, until the time is up; null while no limit is known. */
  readonly share: number | null;
  readonly pauseMs: number;
}

/** How often a process that sends renews its share: often enough to give up what others need, rarely enough to cost nothing. */
const LONGEST_RENEWAL_MS = 2_000;
const SHORTEST_RENEWAL_MS = 200;
/** A share that is not renewed is worth nothing after this long. */
const TTL_MS = 10_000;
/** Part of a share that may leave while its renewal is under way. */
const SPARE = 0.1;

/** This process's share of one limit: renewed while there is something to send, and let go when there is not. */
export class LimitShare {
  readonly #pace: SharedPace;
  readonly #bucket: Bucket;
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly #queued: () => number;
  #validUntil = Number.NEGATIVE_INFINITY;
  #isAsking = false;
  #timer: Timer | null = null;
  #closed = false;

  /** `changed`: more may be sent than before. */
  constructor(pace: SharedPace, bucket: Bucket, clock: Clock, on: { queued(): number; changed(): void }) {
    this.#pace = pace;
    this.#bucket = bucket;
    this.#clock = clock;
    this.#queued = on.queued;
    this.#changed = on.changed;
  }

  /** Whether there is a share; asks for one where not, and where nobody renews it. */
  isOpen(now: number): boolean {
    if (this.#timer === null) this.ask();
    return now < this.#validUntil;
  }

  /** Asks now: there is news, or nothing to go by. */
  ask(): void {
    if (this.#isAsking || this.#closed) return;
    this.#timer?.cancel();
    this.#timer = null;
    this.#isAsking = true;
    void this.#renew().finally(() => {
      this.#isAsking = false;
      const isIdle = this.#queued() === 0 && this.#bucket.used(this.#clock.now()) === 0;
      if (!this.#closed && !isIdle)
        this.#timer = this.#clock.setTimer(this.#renewalMs(), () => this.ask(), { background: true });
      this.#changed();
    });
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  async #renew(): Promise<void> {
    const now = this.#clock.now();
    const before = this.#bucket.used(now);
    const share = now < this.#validUntil ? this.#bucket.share : 0;
    const used = share === null ? before : Math.max(before, Math.min(share, before + Math.ceil(share * SPARE)));
    // Who answers counts no more than this as sent: nothing beyond it may leave meanwhile.
    this.#bucket.restrict(share === null ? null : used);
    const { limit } = this.#bucket;
    const most = limit?.requests ?? Number.MAX_SAFE_INTEGER;
    // What waits, and a little more for what comes next; with nothing waiting, what is in the window.
    const wanted = Math.min(most, before + this.#queued() + Math.max(1, Math.ceil((limit?.requests ?? 10) * SPARE)));
    const pauseMs = Math.max(0, this.#bucket.pausedUntil - now);
    try {
      const grant = await this.#pace.share({ limit, pauseMs, used, wanted, ttlMs: TTL_MS });
      this.#bucket.agree(grant.limit, grant.share, this.#clock.now() + grant.pauseMs);
      this.#validUntil = now + TTL_MS;
    } catch {
      // As before until its time is up; then nothing is sent until the store answers again.
      this.#bucket.restrict(share);
    }
  }

  #renewalMs(): number {
    const windowMs = this.#bucket.limit?.perMs ?? LONGEST_RENEWAL_MS * 30;
    return Math.min(LONGEST_RENEWAL_MS, Math.max(SHORTEST_RENEWAL_MS, windowMs / 30));
  }
}
