/** A timer that can be cancelled. */
export interface Timer {
  /** Cancels the timer. Does nothing if it has already fired. */
  cancel(): void;
}

/** A source of time and timers that tests can replace. */
export interface Clock {
  /** Returns the current time in milliseconds since the Unix epoch. */
  now(): number;
  /** Calls `fire` once after `delayMs` milliseconds. A `background` timer does not keep the process alive. */
  setTimer(delayMs: number, fire: () => void, options?: { readonly background?: boolean }): Timer;
}

const longestTimerMs = 2_147_483_647;

/** The machine's clock and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(delayMs, fire, options) {
    if (delayMs > longestTimerMs) return longTimer(delayMs, fire, options);
    const handle = setTimeout(fire, Math.max(delayMs, 0));
    if (options?.background) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

function longTimer(delayMs: number, fire: () => void, options?: { readonly background?: boolean }): Timer {
  let piece = systemClock.setTimer(longestTimerMs, next, options);
  function next() {
    piece = systemClock.setTimer(delayMs - longestTimerMs, fire, options);
  }
  return { cancel: () => piece.cancel() };
}

/** Resolves after `delayMs` milliseconds, or rejects as soon as the signal aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

export interface Deadline {
  readonly signal: AbortSignal;
  readonly timedOut: () => boolean;
  extend(): void;
  release(): void;
}

export function startDeadline(clock: Clock, timeoutMs: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  let late = false;
  const expire = () => {
    late = true;
    controller.abort(new Error(`no data arrived within ${timeoutMs} ms`));
  };
  const follow = () => controller.abort(parent?.reason);
  // The timer need not keep the process alive, because the open socket does.
  const arm = () => (Number.isFinite(timeoutMs) ? clock.setTimer(timeoutMs, expire, { background: true }) : null);
  let timer = arm();
  if (parent?.aborted) follow();
  else parent?.addEventListener("abort", follow, { once: true });
  return {
    signal: controller.signal,
    timedOut: () => late,
    extend() {
      timer?.cancel();
      timer = arm();
    },
    release() {
      timer?.cancel();
      parent?.removeEventListener("abort", follow);
    },
  };
}
