import TinyQueue from "tinyqueue";

/** A scheduled call. A cancelled timer stays in the heap until it reaches the top. */
interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly call: () => void;
  cancelled: boolean;
}

function compare(a: Timer, b: Timer): number {
  return a.dueMs - b.dueMs || a.order - b.order;
}

/** `real` follows the machine's clock, `scaled` runs faster, and `manual` moves only when advanced. */
export type ClockMode = "real" | "scaled" | "manual";

/** The service's only source of time. */
export interface Clock {
  /** Epoch milliseconds on the service's clock. */
  now(): number;
  /**
   * Runs `call` once at `dueMs`, or on the next tick if `dueMs` has passed. Returns a function that cancels the timer.
   */
  at(dueMs: number, call: () => void): () => void;
}

/** A clock that the operator controls. Time never runs backwards. */
export interface ClockControl extends Clock {
  readonly mode: ClockMode;
  /** Clock milliseconds per real millisecond: 1 in real mode, 0 in manual mode. */
  readonly factor: number;
  /** Follows the machine's clock from now on, without undoing earlier advances. */
  real(): void;
  /** Makes the clock run `factor` times as fast as the machine's clock. */
  scaled(factor: number): void;
  /** Stops the clock, so that it moves only when it is advanced. */
  manual(): void;
  /** Moves the clock forward by `ms`, and runs each timer that becomes due. */
  advance(ms: number): Promise<void>;
  /** Cancels all timers. */
  stop(): void;
}

/** Maximum delay of `setTimeout`. With a longer delay, it would fire immediately. */
const MAX_DELAY_MS = 2_147_483_647;

export interface ClockOptions {
  readonly offsetMs?: number;
  /** Awaited after each timer during `advance`, because the timer's work can set more timers. */
  readonly afterTimer?: () => Promise<void>;
}

export function createClock({ offsetMs = 0, afterTimer = () => Promise.resolve() }: ClockOptions = {}): ClockControl {
  const timers = new TinyQueue<Timer>([], compare);
  let mode: ClockMode = "real";
  let factor = 1;
  let anchorReal = Date.now();
  let anchorService = anchorReal + offsetMs;
  let order = 0;
  let alarm: NodeJS.Timeout | undefined;

  function earliest(): Timer | undefined {
    while (timers.peek()?.cancelled) timers.pop();
    return timers.peek();
  }

  const now = () => Math.floor(anchorService + (Date.now() - anchorReal) * factor);

  function arm(): void {
    clearTimeout(alarm);
    const next = earliest();
    if (!next || factor === 0) return;
    const delay = Math.min(MAX_DELAY_MS, Math.max(0, Math.ceil((next.dueMs - now()) / factor)));
    alarm = setTimeout(fireDue, delay);
  }

  function fireDue(): void {
    for (let next = earliest(); next && next.dueMs <= now(); next = earliest()) timers.pop()?.call();
    arm();
  }

  function run(newMode: ClockMode, newFactor: number): void {
    anchorService = now();
    anchorReal = Date.now();
    mode = newMode;
    factor = newFactor;
    arm();
  }

  function jumpTo(instantMs: number): void {
    anchorService = Math.max(now(), instantMs);
    anchorReal = Date.now();
  }

  return {
    now,
    at(dueMs, call) {
      const timer: Timer = { dueMs, order: order++, call, cancelled: false };
      timers.push(timer);
      if (earliest() === timer) {
        if (factor === 0 && dueMs <= now()) setImmediate(fireDue);
        else arm();
      }
      return () => {
        timer.cancelled = true;
      };
    },
    get mode() {
      return mode;
    },
    get factor() {
      return factor;
    },
    real: () => run("real", 1),
    scaled: (newFactor) => run("scaled", newFactor),
    manual: () => run("manual", 0),
    async advance(ms) {
      const target = now() + Math.max(0, ms);
      await afterTimer();
      for (let next = earliest(); next && next.dueMs <= target; next = earliest()) {
        jumpTo(next.dueMs);
        timers.pop()?.call();
        await afterTimer();
      }
      jumpTo(target);
      arm();
    },
    stop() {
      while (timers.pop());
      clearTimeout(alarm);
    },
  };
}
