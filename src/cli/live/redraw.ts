import { formatDuration } from "../../core/kit/duration.ts";
import type { Context } from "../context.ts";
import type { CommandOutput, Io } from "../io.ts";
import { counted, shorten } from "../text/table.ts";

/** Replaces text on the terminal. No line may be wider than the terminal. */
interface Redraw {
  show(text: string): void;
  clear(): void;
}

export function redrawOn(terminal: Io["stderr"]): Redraw {
  let shown = "";
  const replace = (next: string) => {
    if (next === shown) return;
    const up = shown.split("\n").length - 1;
    // Moves up and clears in a single write, to avoid flicker.
    terminal.write(`${up > 0 ? `\x1b[${up}A` : ""}\x1b[0J${next}`);
    shown = next;
  };
  return { show: (text) => replace(`${text}\n`), clear: () => replace("") };
}

const LINE_EVERY_MS = 2000;

export function throttle(): (say: () => void) => void {
  let lastAt = Date.now();
  return (say) => {
    if (Date.now() - lastAt < LINE_EVERY_MS) return;
    lastAt = Date.now();
    say();
  };
}

/** Redraw interval on a terminal. Other outputs use the two intervals that follow. */
const frameMs = 250;
const firstLineMs = 1_000;
const lineMs = 10_000;

export async function whileWorking<T>({ io, output }: Context, work: Promise<T>, detail: () => string): Promise<T> {
  const canRedraw = io.stderr.isTTY === true && io.env.TERM !== "dumb" && !io.env.CI;
  const began = performance.now();
  const line = () => `${detail()}  ${formatDuration(performance.now() - began)}`;
  if (!canRedraw) {
    const first = setTimeout(() => output.say(line()), firstLineMs);
    const timer = setInterval(() => output.say(line()), lineMs);
    return work.finally(() => {
      clearTimeout(first);
      clearInterval(timer);
    });
  }
  const lines = redrawOn(io.stderr);
  const timer = setInterval(() => lines.show(shorten(line(), (io.stderr.columns ?? 80) - 1)), frameMs);
  return work.finally(() => {
    clearInterval(timer);
    lines.clear();
  });
}

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
