import { formatDuration } from "../../core/kit/duration.ts";
import type { CommandOutput } from "../output.ts";
import { counted } from "../text/table.ts";

/** How long requests are held back for the key's limit, as the client says it. */
export interface Held {
  readonly queued: number;
  /** Epoch milliseconds; null: they are sent as they come. */
  readonly pausedUntil: number | null;
}

/** Shorter waits are no news, milliseconds. */
const LEAST_MS = 3_000;

/** How long until the next request may be sent, milliseconds; null where none waits for long. */
export function limitWaitMs({ queued, pausedUntil }: Held, now: number): number | null {
  if (queued === 0 || pausedUntil === null) return null;
  const ms = pausedUntil - now;
  return ms < LEAST_MS ? null : ms;
}

/** Says each wait for the key's limit once, until it is disposed of. */
export function sayLimitWaits(held: () => Held, output: CommandOutput): Disposable {
  let saidUntil = 0;
  const look = () => {
    const now = Date.now();
    const { queued, pausedUntil } = held();
    const ms = limitWaitMs({ queued, pausedUntil }, now);
    if (ms === null || now < saidUntil) return;
    saidUntil = now + ms;
    output.say(
      `The key's request limit is reached: ${counted(queued, "request")} waiting, the next in ${formatDuration(ms)}`,
    );
  };
  const timer = setInterval(look, 500);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
