import { formatDuration } from "../../core/kit/duration.ts";
import type { CommandOutput } from "../output.ts";
import { counted } from "../text/table.ts";

export interface Held {
  readonly queued: number;
  readonly pausedUntil: number | null;
}

const LEAST_MS = 3_000;

export function limitWaitMs({ queued, pausedUntil }: Held, now: number): number | null {
  if (queued === 0 || pausedUntil === null) return null;
  const ms = pausedUntil - now;
  return ms < LEAST_MS ? null : ms;
}

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
