import type { Clock } from "../clock.ts";

/** A signal that aborts when the caller's does or when time is up, and says which it was. */
export interface Deadline {
  readonly signal: AbortSignal;
  readonly timedOut: () => boolean;
  /** Restarts the time limit, for answers that arrive in pieces. */
  extend(): void;
  /** Takes timer and listener back; call it when the work ended. */
  release(): void;
}

export function startDeadline(clock: Clock, timeoutMs: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  let late = false;
  const expire = () => {
    late = true;
    controller.abort(new Error(`nothing came within ${timeoutMs} ms`));
  };
  const follow = () => controller.abort(parent?.reason);
  // The socket it guards keeps the process alive; the timer need not.
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
