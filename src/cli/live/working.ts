import type { Context } from "../context.ts";
import { duration } from "../text/duration.ts";
import { shorten } from "../text/width.ts";
import { redrawOn } from "./redraw.ts";

/** Milliseconds between two pictures on a terminal, and between two lines elsewhere. */
const frameMs = 250;
const lineMs = 10_000;

/**
 * Waits for long work and says that it goes on: a line that is redrawn on a terminal, now and then a line elsewhere.
 * `detail` is asked each time for what there is to say beside the time.
 */
export async function whileWorking<T>({ io, output }: Context, work: Promise<T>, detail: () => string): Promise<T> {
  const canRedraw = io.stderr.isTTY === true && io.env.TERM !== "dumb" && !io.env.CI;
  const began = performance.now();
  const line = () => `${detail()}  ${duration(performance.now() - began)}`;
  if (!canRedraw) {
    const timer = setInterval(() => output.say(line()), lineMs);
    return work.finally(() => clearInterval(timer));
  }
  const lines = redrawOn(io.stderr);
  const timer = setInterval(() => lines.show(shorten(line(), (io.stderr.columns ?? 80) - 1)), frameMs);
  return work.finally(() => {
    clearInterval(timer);
    lines.clear();
  });
}
