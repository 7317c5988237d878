import { guessWindowMs, type LimitNews, type RateLimit } from "./limit.ts";

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
    if (news.waitMs !== null) this.#pausedUntil = Math.max(this.#pausedUntil, now + news.waitMs + chance * marginMs);
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
    this.#pausedUntil = Math.max(this.#pausedUntil, now + waitMs + marginMs + chance * Math.min(500, waitMs * 0.1));
    // After a refusal one request tries alone, and each good answer doubles how many may be under way.
    this.#ramp = 1;
    this.#goodAnswers = 0;
    if (news.requests === null || !fresh) return;
    this.#learntAt = now;
    const oldest = this.#answered.at(-Math.min(this.#answered.length, news.requests + 1)) ?? now;
    const spanMs = now + (news.resetMs ?? waitMs) - oldest;
    this.#limit = { requests: news.requests, perMs: guessWindowMs(spanMs, this.#limit?.perMs ?? null) };
  }

  #windowOpensAt(now: number): number {
    if (this.#limit === null) {
      if (this.#answered.length > 4_096) this.#answered = this.#answered.slice(-2_048);
      return now;
    }
    const { requests, perMs } = this.#limit;
    const spanMs = perMs + marginMs;
    const gone = this.#answered.findIndex((at) => at + spanMs > now);
    this.#answered = gone === -1 ? [] : gone > 0 ? this.#answered.slice(gone) : this.#answered;
    const over = this.#answered.length + this.#inFlight - requests;
    if (over < 0) return now;
    const freeing = this.#answered[over];
    return freeing === undefined ? Number.POSITIVE_INFINITY : freeing + spanMs;
  }
}
