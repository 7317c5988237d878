import type { IncomingHttpHeaders } from "node:http";
import type { Clock, Timer } from "../clock.ts";
import { ConnectionError } from "../errors/client-errors.ts";
import { headerText } from "../http/headers.ts";
import { Bucket, type RateLimit, readLimitNews } from "./bucket.ts";
import { compare, FairQueue, type Priority, type Waiting } from "./fair-queue.ts";

const SECOND_MS = 1_000;

/**
 * How far the service's clock is ahead, from its Date headers. One header has whole seconds and an unknown delay, so
 * it gives a span; spans that overlap narrow each other, and one that does not starts anew, because a clock was set.
 */
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

  /** Milliseconds to add to this machine's time; 0 as long as nothing speaks against it. */
  get offsetMs(): number {
    if (this.#low <= 0 && this.#high >= 0) return 0;
    return Math.round((this.#low + this.#high) / 2);
  }
}

/** At most `max` starts within a second of the first of them. */
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

  /** A clock that was set back ends the second, too. */
  #isOver(now: number): boolean {
    return Math.abs(now - this.#since) >= SECOND_MS;
  }
}

/** Kinds of endpoints that may have limits of their own. */
export type RequestClass = "submit" | "read" | "write" | "upload" | "stream" | "chat";

export interface PaceOptions {
  /** Requests in flight at once. A stream counts only until it is open. Default 32. */
  readonly maxInFlight?: number | undefined;
  /** Requests started within a second. Default 2,000: a burst is bounded by what is in flight, and a large run is priced within seconds. */
  readonly maxPerSecond?: number | undefined;
  /** The key's limit, where it is known beforehand. Default: learnt from the first 429. */
  readonly limit?: RateLimit | undefined;
  /** Limits of their own for classes of requests; what is not named shares the key's. Default: all share one. */
  readonly buckets?: Readonly<Partial<Record<RequestClass, { readonly limit?: RateLimit | undefined }>>> | undefined;
}

export interface PaceSlot {
  readonly requestClass: RequestClass;
  readonly priority: Priority;
  readonly signal?: AbortSignal | undefined;
}

export interface PaceSnapshot {
  readonly inFlight: number;
  /** API requests admitted since the client was created, without downloads of media. */
  readonly sent: number;
  /** Answers 429 since then. */
  readonly limited: number;
  readonly queued: number;
  /** Epoch milliseconds until which nothing is sent in some class, or null. */
  readonly pausedUntil: number | null;
  /** The limit of requests that have no bucket of their own, once known. */
  readonly limit: RateLimit | null;
}

/** What the pacer reads of an answer. */
export type Paced =
  | { readonly kind: "answer"; readonly status: number; readonly headers: IncomingHttpHeaders }
  | { readonly kind: "lost" | "aborted" };

/** The one gate that every request of a key passes. */
export interface Pacer {
  /** Runs `work` when its turn has come. Rejects only with the signal's reason, or when the pacer was closed. */
  run<T extends Paced>(slot: PaceSlot, work: () => Promise<T>): Promise<T>;
  clockOffsetMs(): number;
  snapshot(): PaceSnapshot;
  close(): void;
}

/** A request that waits its turn. */
interface Entry extends Waiting {
  start(): void;
  fail(reason: unknown): void;
  over: boolean;
}

interface Lane {
  readonly bucket: Bucket;
  readonly waiting: FairQueue<Entry>;
}

/** Until the pause that the service asked for is over and, where requests wait, the limit lets one through. */
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

  /** Starts what may start, and sets one timer for what may start later. */
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

  /** The lane whose first in line goes next, or when the earliest closed lane opens. */
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
