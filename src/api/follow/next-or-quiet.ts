import type { Clock } from "../clock.ts";

/** The items of a source, and `quiet` each time none came for as long as `quietMs` says. Ends with the source, and ends it when left. */
export async function* nextOrQuiet<T>(
  source: AsyncGenerator<T, void>,
  clock: Clock,
  quietMs: () => number,
): AsyncGenerator<T | "quiet", void> {
  let pending = source.next();
  let over = false;
  try {
    for (;;) {
      const step = await orQuiet(pending, clock, quietMs());
      if (step === "quiet") {
        yield step;
        continue;
      }
      over = step.done === true;
      if (step.done) return;
      pending = source.next();
      // Rejections are for the one who asks next; until then they are not unhandled.
      pending.catch(() => {});
      yield step.value;
    }
  } finally {
    if (!over) {
      pending.catch(() => {});
      void source.return().catch(() => {});
    }
  }
}

function orQuiet<T>(pending: Promise<T>, clock: Clock, quietMs: number): Promise<T | "quiet"> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(quietMs, () => resolve("quiet"), { background: true });
    pending.then(resolve, reject).finally(() => timer.cancel());
  });
}
