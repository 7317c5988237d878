import { formatDuration } from "../../core/kit/duration.ts";
import type { CommandOutput } from "../output.ts";
import { counted } from "../text/table.ts";

export interface Held {
  readonly queued: number;
  /** Requests are held until this time, in epoch milliseconds. Null if they are sent immediately. */
  readonly pausedUntil: number | null;
}

/** Waits shorter than this are not reported. */
const LEAST_MS = 3_000;

/** Returns the milliseconds until the next request can be sent, or null if the wait is too short to report. */
export function limitWaitMs({ queued, pausedUntil }: Held, now: number): number | null {
  if (queued === 0 || pausedUntil === null) return null;
  const ms = pausedUntil - now;
  return ms < LEAST_MS ? null : ms;
}

/** Reports each wait for the rate limit once, until the returned object is disposed. */
export function sayLimitWaits(held: () => Held, output: CommandOutput): Disposable {
  let saidUntil = 0;
  const look = () => {
    const now = Date.now();
    const { queued, pausedUntil } = held();
    const ms = limitWaitMs({ queued, pausedUntil }, now);
    if (ms === null || now < saidUntil) return;
    saidUntil = now + ms;
    output.say(`Rate limit reached: ${counted(queued, "request")} waiting, the next in ${formatDuration(ms)}`);
  };
  const timer = setInterval(look, 500);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
