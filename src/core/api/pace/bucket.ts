import type { IncomingHttpHeaders } from "node:http";
import { headerNumber, LONGEST_ASKED_MS, retryAfterHeaderMs } from "../http/headers.ts";

/** At most `requests` within any `perMs` milliseconds. */
export interface RateLimit {
  readonly requests: number;
  readonly perMs: number;
}

/** What an answer says about limits. Times are in milliseconds from the moment it came. */
export interface LimitNews {
  readonly refused: boolean;
  /** How long to send nothing, or null when the answer does not say. */
  readonly waitMs: number | null;
  readonly requests: number | null;
  /** Until the window ends. */
  readonly resetMs: number | null;
}

/**
 * Reads the headers of limits. They are only promised on a 429; on other answers they are used where they stand.
 * Retry-After goes before X-RateLimit-Reset, which is an instant of the service's clock.
 */
export function readLimitNews(status: number, headers: IncomingHttpHeaders, serviceNow: number): LimitNews {
  const refused = status === 429;
  const reset = headerNumber(headers, "x-ratelimit-reset");
  const resetMs = reset === null ? null : Math.min(longestWindowMs, Math.max(0, reset * 1000 - serviceNow));
  const exhausted = headerNumber(headers, "x-ratelimit-remaining") === 0;
  const limit = headerNumber(headers, "x-ratelimit-limit");
  const askedMs = refused ? retryAfterHeaderMs(headers, serviceNow) : null;
  const retryAfterMs = askedMs === null ? null : Math.min(longestWindowMs, askedMs);
  return {
    refused,
    waitMs: refused ? (retryAfterMs ?? resetMs) : exhausted ? resetMs : null,
    requests: limit !== null && limit >= 1 ? Math.floor(limit) : null,
    resetMs: resetMs ?? retryAfterMs,
  };
}

const minuteMs = 60_000;
/** No window of a limit is taken for longer. */
const longestWindowMs = 15 * minuteMs;

/**
 * The window behind a refusal. The headers name the limit and the end of the window but not its length, and a window
 * that stands on the clock may have begun long before our first request in it; so all but plain per-second limits are
 * taken for at least a minute. Guessing too long costs time, guessing too short costs refusals.
 */
export function guessWindowMs(spanMs: number, known: number | null): number {
  const guess = spanMs <= 1_000 ? 1_000 : Math.max(minuteMs, Math.ceil(spanMs / 1_000) * 1_000);
  if (known === null) return guess;
  // A refusal although the known window was kept: it must be longer, at least a minute.
  return Math.max(known, guess, known < minuteMs ? minuteMs : 0);
}

/** Requests may be counted by the service a moment later than we think they arrived. */
const marginMs = 100;
/** Requests in flight while nothing is known of the limit, so that finding it costs few refusals. */
const firstInFlight = 4;
/** Good answers after which that number doubles. */
const goodAnswersToDouble = 128;
const firstWaitMs = 1_000;
const longestWaitMs = 60_000;

/** One limit of the service as far as it is known, and how much of it is used. Time comes in as an argument. */
export class Bucket {
  #limit: RateLimit | null;
  #pausedUntil = 0;
  #inFlight = 0;
  #ramp = firstInFlight;
  #goodAnswers = 0;
  #refusals = 0;
  /** Of the requests that a window can still remember: when each was answered, so certainly counted. Rising. */
  #answered: number[] = [];
  /** A refusal to a request that left before this instant tells nothing that an earlier one did not. */
  #learntAt = Number.NEGATIVE_INFINITY;

  constructor(limit: RateLimit | null) {
    this.#limit = limit;
  }

  get limit(): RateLimit | null {
    return this.#limit;
  }

  get pausedUntil(): number {
    return this.#pausedUntil;
  }

  /** When the next request may leave; `now` or earlier for at once, Infinity when first an answer must come. */
  opensAt(now: number): number {
    if (this.#inFlight >= this.#ramp) return Number.POSITIVE_INFINITY;
    return Math.max(this.#pausedUntil, this.#windowOpensAt(now));
  }

  begin(): void {
    this.#inFlight++;
  }

  /** `sentAt` tells which requests of a burst were refused together. `chance` spreads the wakes of many clients. */
  end(sentAt: number, now: number, news: LimitNews | null, chance: number): void {
    this.#inFlight--;
    this.#answered.push(now);
    if (news === null) return;
    if (news.refused) return this.#refused(sentAt, now, news, chance);
    this.#refusals = 0;
    if (news.waitMs !== null) this.#pauseFor(news.waitMs + chance * marginMs, now);
    const finding = this.#limit === null && this.#ramp >= firstInFlight;
    if (++this.#goodAnswers >= (finding ? goodAnswersToDouble : 1)) {
      this.#goodAnswers = 0;
      this.#ramp = Math.min(this.#ramp * 2, 65_536);
    }
  }

  #refused(sentAt: number, now: number, news: LimitNews, chance: number): void {
    const fresh = sentAt >= this.#learntAt;
    if (fresh) this.#refusals++;
    const waitMs = news.waitMs ?? Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(this.#refusals - 1, 6));
    this.#pauseFor(waitMs + marginMs + chance * Math.min(500, waitMs * 0.1), now);
    // After a refusal one request tries alone, and each good answer doubles how many may be under way.
    this.#ramp = 1;
    this.#goodAnswers = 0;
    if (news.requests === null || !fresh) return;
    this.#learntAt = now;
    const oldest = this.#answered.at(-Math.min(this.#answered.length, news.requests + 1)) ?? now;
    const spanMs = now + (news.resetMs ?? waitMs) - oldest;
    this.#limit = { requests: news.requests, perMs: guessWindowMs(spanMs, this.#limit?.perMs ?? null) };
  }

  #pauseFor(askedMs: number, now: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, now + Math.min(askedMs, LONGEST_ASKED_MS + 600));
  }

  #windowOpensAt(now: number): number {
    if (this.#limit === null) {
      if (this.#answered.length > 4_096) this.#answered = this.#answered.slice(-2_048);
      return now;
    }
    const { perMs, requests } = this.#limit;
    const spanMs = perMs + marginMs;
    const missing = this.#answered.findIndex((at) => at + spanMs > now);
    this.#answered = missing === -1 ? [] : missing > 0 ? this.#answered.slice(missing) : this.#answered;
    const over = this.#answered.length + this.#inFlight - requests;
    if (over < 0) return now;
    const freeing = this.#answered[over];
    return freeing === undefined ? Number.POSITIVE_INFINITY : freeing + spanMs;
  }
}
