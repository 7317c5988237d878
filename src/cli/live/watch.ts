import { formatDuration } from "../../core/kit/duration.ts";
import { liveText, type RunUpdate } from "../../core/view/index.ts";
import type { Context } from "../context.ts";
import type { CommandOutput, Io } from "../io.ts";
import { visible } from "../text/escape.ts";
import { counted, shorten } from "../text/table.ts";
import { type ExpectedMs, LiveRun, renderTree } from "./tree.ts";

export interface WatchOptions {
  /** Events up to and including this sequence number are not printed. */
  readonly afterSeq?: number;
  readonly expectedMs?: ExpectedMs;
  readonly pace?: (() => Held) | undefined;
}

const treeFrameMs = 120;

export async function watchRun(
  updates: AsyncIterable<RunUpdate>,
  io: Io,
  output: CommandOutput,
  options: WatchOptions = {},
): Promise<void> {
  const picture = canRedraw(io) ? redrawing(io, output, options) : printing(output, options);
  try {
    for await (const update of updates) picture.show(update);
  } finally {
    picture.end();
  }
}

interface Picture {
  show(update: RunUpdate): void;
  end(): void;
}

function printing(output: CommandOutput, { afterSeq = 0, pace }: WatchOptions): Picture {
  const waits = pace === undefined ? null : sayLimitWaits(pace, output);
  return {
    show(update) {
      if ("type" in update || update.seq <= afterSeq) return;
      const line = liveText(update.event);
      if (line !== null) output.say(visible(line));
    },
    end: () => waits?.[Symbol.dispose](),
  };
}

function redrawing(io: Io, output: CommandOutput, { expectedMs, pace }: WatchOptions): Picture {
  const lines = redrawOn(io.stderr);
  const live = new LiveRun();
  const draw = () =>
    lines.show(
      renderTree(live, {
        now: Date.now(),
        expectedMs,
        limitWaitMs: pace === undefined ? null : limitWaitMs(pace(), Date.now()),
        width: io.stderr.columns ?? 80,
        height: io.stderr.rows ?? 24,
        paint: output.paint,
      }),
    );
  const timer = setInterval(draw, treeFrameMs);
  return {
    show: (update) => live.add(update),
    end() {
      clearInterval(timer);
      draw();
    },
  };
}

/**
 * Returns functions that replace or clear the text last shown on the terminal. No line may be wider than the terminal.
 */
export function redrawOn(terminal: Io["stderr"]) {
  let shown = "";
  const replace = (next: string) => {
    if (next === shown) return;
    const up = shown.split("\n").length - 1;
    // Moves up and clears in a single write, to avoid flicker.
    terminal.write(`${up > 0 ? `\x1b[${up}A` : ""}\x1b[0J${next}`);
    shown = next;
  };
  return { show: (text: string) => replace(`${text}\n`), clear: () => replace("") };
}

/** Interval between redraws on a terminal. Elsewhere, lines are printed after `firstLineMs` and then every `lineMs`. */
const frameMs = 250;
const firstLineMs = 1_000;
const lineMs = 10_000;

/** Waits for `work` and shows its progress, which `work` reports by calling `say`. */
export async function whileWorking<T>(
  { io, output }: Context,
  first: string,
  work: (say: (progress: string) => void) => Promise<T>,
): Promise<T> {
  const began = performance.now();
  let detail = first;
  const line = () => `${detail}  ${formatDuration(performance.now() - began)}`;
  const end = work((progress) => {
    detail = progress;
  });
  const lines = redrawOn(io.stderr);
  const say = () => output.say(line());
  const draw = () => lines.show(shorten(line(), (io.stderr.columns ?? 80) - 1));
  const timers = canRedraw(io)
    ? [setInterval(draw, frameMs)]
    : [setTimeout(say, firstLineMs), setInterval(say, lineMs)];
  return end.finally(() => {
    timers.forEach(clearInterval);
    lines.clear();
  });
}

function canRedraw({ stderr, env }: Pick<Io, "stderr" | "env">): boolean {
  return stderr.isTTY === true && env.TERM !== "dumb" && !env.CI;
}

export interface Held {
  readonly queued: number;
  readonly pausedUntil: number | null;
}

const LEAST_MS = 3_000;

function limitWaitMs({ queued, pausedUntil }: Held, now: number): number | null {
  if (queued === 0 || pausedUntil === null) return null;
  const ms = pausedUntil - now;
  return ms < LEAST_MS ? null : ms;
}

export function sayLimitWaits(held: () => Held, output: CommandOutput): Disposable {
  let saidUntil = 0;
  const look = () => {
    const now = Date.now();
    const waiting = held();
    const ms = limitWaitMs(waiting, now);
    if (ms === null || now < saidUntil) return;
    saidUntil = now + ms;
    output.say(`Rate limit reached: ${counted(waiting.queued, "request")} waiting, the next in ${formatDuration(ms)}`);
  };
  const timer = setInterval(look, 500);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
