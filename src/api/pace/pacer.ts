import type { IncomingHttpHeaders } from "node:http";
import PQueue from "p-queue";
import { type Clock, sleep } from "../clock.ts";
import { headerNumber, headerText, retryAfterHeaderMs } from "../http/headers.ts";

/** Endpoint classes that may have limits of their own. */
export type RequestClass = "submit" | "read" | "write" | "upload" | "stream" | "chat";

export interface PaceOptions {
  /** Requests in flight at once. Default 32. */
  readonly maxInFlight?: number | undefined;
}

export interface PaceSlot {
  readonly requestClass: RequestClass;
  readonly priority: number;
  readonly signal?: AbortSignal | undefined;
}

export interface PaceSnapshot {
  readonly inFlight: number;
  readonly queued: number;
  /** Epoch milliseconds until which nothing is sent, or null. */
  readonly pausedUntil: number | null;
}

/** What the pacer looks at in an answer. */
export type Paced =
  | { readonly kind: "answer"; readonly status: number; readonly headers: IncomingHttpHeaders }
  | { readonly kind: "lost" | "aborted" };

/** The one gate that every request of a key passes. */
export interface Pacer {
  run<T extends Paced>(slot: PaceSlot, work: () => Promise<T>): Promise<T>;
  clockOffsetMs(): number;
  snapshot(): PaceSnapshot;
  close(): void;
}

export function createPacer(clock: Clock, options: PaceOptions = {}): Pacer {
  const queue = new PQueue({ concurrency: options.maxInFlight ?? 32 });
  let pausedUntil: number | null = null;
  let offsetMs = 0;

  const observe = (answer: Paced) => {
    if (answer.kind !== "answer") return;
    const date = Date.parse(headerText(answer.headers, "date") ?? "");
    if (!Number.isNaN(date)) offsetMs = date - clock.now();
    if (answer.status === 429) pause(waitOf(answer.headers));
  };
  const waitOf = (headers: IncomingHttpHeaders): number => {
    const reset = headerNumber(headers, "x-ratelimit-reset");
    const untilResetMs = reset === null ? null : Math.max(0, reset * 1000 - (clock.now() + offsetMs));
    return retryAfterHeaderMs(headers, clock) ?? untilResetMs ?? 1_000;
  };
  const pause = (waitMs: number) => {
    pausedUntil = Math.max(pausedUntil ?? 0, clock.now() + waitMs);
  };

  return {
    run: (slot, work) =>
      queue.add(
        async () => {
          while (pausedUntil !== null && pausedUntil > clock.now())
            await sleep(clock, pausedUntil - clock.now(), slot.signal);
          slot.signal?.throwIfAborted();
          const answer = await work();
          observe(answer);
          return answer;
        },
        { priority: slot.priority },
      ),
    clockOffsetMs: () => offsetMs,
    snapshot: () => ({ inFlight: queue.pending, queued: queue.size, pausedUntil }),
    close: () => queue.clear(),
  };
}
