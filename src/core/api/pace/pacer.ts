import type { IncomingHttpHeaders } from "node:http";
import type { Clock, Timer } from "../clock.ts";
import { ConnectionError } from "../errors.ts";
import { headerNumber, headerText, retryAfterHeaderMs } from "../http/transport.ts";
import { LONGEST_ASKED_MS } from "../retry.ts";
import { compare, FairQueue, type Priority, type Waiting } from "./fair-queue.ts";

const SECOND_MS = 1_000;

/** Estimates how far ahead the service's clock is, from the Date headers of its responses. */
export class ServiceClock {
  #low = Number.NEGATIVE_INFINITY;
  #high = Number.POSITIVE_INFINITY;

  observe(date: string | null, sentAt: number, receivedAt: number): void {
    const at = Date.parse(date ?? "");
    if (Number.isNaN(at)) return;
    const [low, high] = [at - receivedAt, at + 999 - sentAt];
    const overlaps = low <= this.#high && high >= this.#low;
    this.#low = overlaps ? Math.max(low, this.#low) : low;
    this.#high = overlaps ? Math.min(high, this.#high) : high;
  }

  get offsetMs(): number {
    if (this.#low <= 0 && this.#high >= 0) return 0;
    return Math.round((this.#low + this.#high) / 2);
  }
}

class StartRate {
  #since = Number.NEGATIVE_INFINITY;
  #started = 0;
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  opensAt(now: number): number {
    return this.#started < this.#max || this.#isOver(now) ? now : this.#since + SECOND_MS;
  }

  begin(now: number): void {
    if (this.#isOver(now)) {
      this.#since = now;
      this.#started = 0;
    }
    this.#started++;
  }

  #isOver(now: number): boolean {
    return Math.abs(now - this.#since) >= SECOND_MS;
  }
}

/** Kinds of requests that may have separate rate limits. */
export type RequestClass = "submit" | "read" | "write" | "upload" | "stream" | "chat";

/** Limits on the client's requests. A 429 lowers them further for a while. */
export interface PaceOptions {
  /** Maximum number of concurrent requests, excluding open streams. Default: 32. */
  readonly maxInFlight?: number | undefined;
  /** Maximum number of requests started per second. Default: 2,000. */
  readonly maxPerSecond?: number | undefined;
  /** The key's rate limit, if you know it. By default, the client learns it from the first 429. */
  readonly limit?: RateLimit | undefined;
  /** Separate limits for some kinds of requests. All other kinds share the key's limit. Default: none. */
  readonly buckets?: Readonly<Partial<Record<RequestClass, { readonly limit?: RateLimit | undefined }>>> | undefined;
}

export interface PaceSlot {
  readonly requestClass: RequestClass;
  readonly priority: Priority;
  readonly signal?: AbortSignal | undefined;
}

/** The current state of the limits on the client's requests. */
export interface PaceSnapshot {
  readonly inFlight: number;
  /** Number of API requests sent since the client was created, excluding downloads. */
  readonly sent: number;
  /** Number of responses with status 429 since the client was created. */
  readonly limited: number;
  readonly queued: number;
  /** When paused requests are sent again, in epoch milliseconds; null if none are paused. */
  readonly pausedUntil: number | null;
  /** The key's rate limit; null until it is known. */
  readonly limit: RateLimit | null;
}

export type Paced =
  | { readonly kind: "answer"; readonly status: number; readonly headers: IncomingHttpHeaders }
  | { readonly kind: "lost" | "aborted" };

export interface Pacer {
  /** Runs `work` once the limits allow it. Rejects if the signal aborts or the pacer is closed first. */
  run<T extends Paced>(slot: PaceSlot, work: () => Promise<T>): Promise<T>;
  clockOffsetMs(): number;
  snapshot(): PaceSnapshot;
  close(): void;
}

interface Entry extends Waiting {
  start(): void;
  fail(reason: unknown): void;
  over: boolean;
}

interface Lane {
  readonly bucket: Bucket;
  readonly waiting: FairQueue<Entry>;
}

function heldUntil({ bucket, waiting }: Lane, now: number): number {
  const opensAt = waiting.length > 0 ? bucket.opensAt(now) : Number.POSITIVE_INFINITY;
  return Number.isFinite(opensAt) ? opensAt : bucket.pausedUntil;
}

export function createPacer(clock: Clock, options: PaceOptions = {}, random: () => number = Math.random): Pacer {
  return new KeyPacer(clock, options, random);
}

class KeyPacer implements Pacer {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #maxInFlight: number;
  readonly #starts: StartRate;
  readonly #serviceClock = new ServiceClock();
  readonly #shared: Lane;
  readonly #own = new Map<RequestClass, Lane>();
  #order = 0;
  #inFlight = 0;
  #sent = 0;
  #limited = 0;
  #wake: Timer | null = null;
  #closed = false;

  constructor(clock: Clock, options: PaceOptions, random: () => number) {
    this.#clock = clock;
    this.#random = random;
    this.#maxInFlight = options.maxInFlight ?? 32;
    this.#starts = new StartRate(options.maxPerSecond ?? 2_000);
    this.#shared = newLane(options.limit);
    for (const [requestClass, own] of Object.entries(options.buckets ?? {})) {
      this.#own.set(requestClass as RequestClass, newLane(own.limit));
    }
  }

  run<T extends Paced>(slot: PaceSlot, work: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closedError());
    if (slot.signal?.aborted) return Promise.reject(slot.signal.reason);
    const lane = this.#own.get(slot.requestClass) ?? this.#shared;
    const place = typeof slot.priority === "number" ? { level: slot.priority, turn: undefined } : slot.priority;
    return new Promise<T>((resolve, reject) => {
      const onAbort = () => entry.fail(slot.signal?.reason);
      const leave = () => {
        entry.over = true;
        slot.signal?.removeEventListener("abort", onAbort);
      };
      const entry: Entry = {
        priority: place.level,
        order: this.#order++,
        turn: place.turn,
        over: false,
        start: () => {
          leave();
          this.#perform(lane, work).then(resolve, reject);
        },
        fail: (reason) => {
          leave();
          reject(reason);
        },
      };
      slot.signal?.addEventListener("abort", onAbort, { once: true });
      lane.waiting.push(entry);
      this.#pump();
    });
  }

  clockOffsetMs(): number {
    return this.#serviceClock.offsetMs;
  }

  snapshot(): PaceSnapshot {
    const lanes = [this.#shared, ...this.#own.values()];
    const now = this.#clock.now();
    const pausedUntil = Math.max(...lanes.map((lane) => heldUntil(lane, now)));
    return {
      inFlight: this.#inFlight,
      sent: this.#sent,
      limited: this.#limited,
      queued: lanes.reduce((sum, lane) => sum + lane.waiting.length, 0),
      pausedUntil: pausedUntil > now ? pausedUntil : null,
      limit: this.#shared.bucket.limit,
    };
  }

  close(): void {
    this.#closed = true;
    this.#wake?.cancel();
    for (const lane of [this.#shared, ...this.#own.values()]) {
      for (let entry = lane.waiting.head(); entry !== undefined; entry = lane.waiting.head()) entry.fail(closedError());
    }
  }

  async #perform<T extends Paced>(lane: Lane, work: () => Promise<T>): Promise<T> {
    lane.bucket.begin();
    this.#inFlight++;
    this.#sent++;
    const sentAt = this.#clock.now();
    this.#starts.begin(sentAt);
    let result: T | null = null;
    try {
      result = await work();
      return result;
    } finally {
      this.#inFlight--;
      this.#observe(lane, sentAt, result);
      this.#pump();
    }
  }

  #observe(lane: Lane, sentAt: number, result: Paced | null): void {
    const now = this.#clock.now();
    if (result?.kind !== "answer") return lane.bucket.end(sentAt, now, null, 0);
    if (result.status === 429) this.#limited++;
    this.#serviceClock.observe(headerText(result.headers, "date"), sentAt, now);
    const news = readLimitNews(result.status, result.headers, now + this.#serviceClock.offsetMs);
    lane.bucket.end(sentAt, now, news, this.#random());
  }

  #pump(): void {
    this.#wake?.cancel();
    this.#wake = null;
    let opensAt = Number.POSITIVE_INFINITY;
    for (let best = this.#next(); ; best = this.#next()) {
      if (best.lane === null || this.#inFlight >= this.#maxInFlight) {
        opensAt = best.lane === null ? best.opensAt : Number.POSITIVE_INFINITY;
        break;
      }
      best.lane.waiting.pop()?.start();
    }
    if (this.#closed || !Number.isFinite(opensAt)) return;
    this.#wake = this.#clock.setTimer(opensAt - this.#clock.now(), () => this.#pump());
  }

  #next(): { readonly lane: Lane | null; readonly opensAt: number } {
    const now = this.#clock.now();
    let chosen: Lane | null = null;
    let earliest = Number.POSITIVE_INFINITY;
    for (const lane of [this.#shared, ...this.#own.values()]) {
      const head = lane.waiting.head();
      if (head === undefined) continue;
      const opensAt = Math.max(lane.bucket.opensAt(now), this.#starts.opensAt(now));
      if (opensAt > now) earliest = Math.min(earliest, opensAt);
      else if (chosen === null || compare(head, chosen.waiting.head()!) < 0) chosen = lane;
    }
    return { lane: chosen, opensAt: earliest };
  }
}

function newLane(limit: RateLimit | undefined): Lane {
  return { bucket: new Bucket(limit ?? null), waiting: new FairQueue<Entry>() };
}

function closedError(): ConnectionError {
  return new ConnectionError("the client was closed before the request was sent", { sent: false });
}

/** At most `requests` requests in any period of `perMs` milliseconds. */
interface RateLimit {
  readonly requests: number;
  readonly perMs: number;
}

/** What a response says about the rate limit. Times are relative to the response's arrival. */
interface LimitNews {
  readonly refused: boolean;
  readonly waitMs: number | null;
  readonly requests: number | null;
  readonly resetMs: number | null;
}

function readLimitNews(status: number, headers: IncomingHttpHeaders, serviceNow: number): LimitNews {
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
const longestWindowMs = 15 * minuteMs;

/** Guesses the length of a rate limit's window, which no header states. */
function guessWindowMs(spanMs: number, known: number | null): number {
  const guess = spanMs <= 1_000 ? 1_000 : Math.max(minuteMs, Math.ceil(spanMs / 1_000) * 1_000);
  if (known === null) return guess;
  // A refusal shows that the window is longer than assumed, so at least a minute is assumed.
  return Math.max(known, guess, known < minuteMs ? minuteMs : 0);
}

/** Milliseconds added to waiting times, because the service may count a request slightly later than the client does. */
const marginMs = 100;
/** Maximum number of concurrent requests while the rate limit is unknown. */
const firstInFlight = 4;
const goodAnswersToDouble = 128;
const firstWaitMs = 1_000;
const longestWaitMs = 60_000;

class Bucket {
  #limit: RateLimit | null;
  #pausedUntil = 0;
  #inFlight = 0;
  #ramp = firstInFlight;
  #goodAnswers = 0;
  #refusals = 0;
  #answered: number[] = [];
  /** When the limit was last set. Refusals of requests that were sent before this time do not change the limit. */
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

  /** Returns when the next request may be sent; Infinity if a response must arrive first. */
  opensAt(now: number): number {
    if (this.#inFlight >= this.#ramp) return Number.POSITIVE_INFINITY;
    return Math.max(this.#pausedUntil, this.#windowOpensAt(now));
  }

  begin(): void {
    this.#inFlight++;
  }

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
    // After a refusal, only one request is sent at first. Successes then double the number.
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
