import { liveText, type RunUpdate } from "../../core/view/index.ts";
import type { CommandOutput, Io } from "../io.ts";
import { visible } from "../text/escape.ts";
import { type Held, limitWaitMs, redrawOn, sayLimitWaits } from "./redraw.ts";
import { type ExpectedMs, LiveRun, type Rate, renderTree } from "./tree.ts";

export interface WatchOptions {
  /** Events up to and including this sequence number are not printed. */
  readonly afterSeq?: number;
  readonly expectedMs?: ExpectedMs;
  readonly pace?: (() => Pace) | undefined;
}

export interface Pace extends Held {
  readonly sent: number;
  readonly limit: { readonly requests: number; readonly perMs: number } | null;
}

const frameMs = 120;

export async function watchRun(
  updates: AsyncIterable<RunUpdate>,
  io: Io,
  output: CommandOutput,
  options: WatchOptions = {},
): Promise<void> {
  const canRedraw = io.stderr.isTTY === true && io.env.TERM !== "dumb" && !io.env.CI;
  const picture = canRedraw ? redrawing(io, output, options) : printing(output, options);
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
  const rate = pace === undefined ? () => undefined : rateOf(pace);
  const draw = () =>
    lines.show(
      renderTree(live, {
        now: Date.now(),
        expectedMs,
        rate: rate(),
        width: io.stderr.columns ?? 80,
        height: io.stderr.rows ?? 24,
        paint: output.paint,
      }),
    );
  const timer = setInterval(draw, frameMs);
  return {
    show: (update) => live.add(update),
    end() {
      clearInterval(timer);
      draw();
    },
  };
}

const minuteMs = 60_000;

function rateOf(pace: () => Pace): () => Rate {
  const seen: { readonly at: number; readonly sent: number }[] = [{ at: performance.now(), sent: pace().sent }];
  return () => {
    const at = performance.now();
    const { sent, limit, ...held } = pace();
    // One sample per second is precise enough.
    if (at - seen.at(-1)!.at >= 1000) seen.push({ at, sent });
    while (seen.length > 1 && at - seen[1]!.at >= minuteMs) seen.shift();
    const limitPerMinute = limit === null ? null : Math.round((limit.requests / limit.perMs) * minuteMs);
    return { perMinute: sent - seen[0]!.sent, limitPerMinute, waitMs: limitWaitMs(held, Date.now()) };
  };
}
