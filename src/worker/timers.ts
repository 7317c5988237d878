import type { LocalWork } from "../index.ts";
import { type Engine, type EngineHandlers, keyOfWork, type ProcessOptions, type WakeOptions } from "./engine.ts";

/** Shortest and longest delay before a handler that rejected is called again, milliseconds. */
const [FIRST_RETRY_MS, LONGEST_RETRY_MS] = [1_000, 60_000];

interface Item {
  dueAt: number;
  priority: number;
  failures: number;
  isActive: boolean;
  /** A wake that came while it was active. */
  again: WakeOptions | null;
  /** Settles with when it is due again, or null. */
  readonly perform: (handlers: EngineHandlers, signal: AbortSignal) => Promise<number | null>;
  readonly kind: keyof ProcessOptions;
}

export interface TimersOptions {
  readonly now?: (() => number) | undefined;
  readonly setTimer?: ((delayMs: number, fire: () => void) => { cancel(): void }) | undefined;
  /** Told of each failure of a handler; it is called again. */
  readonly onError?: ((error: unknown, what: string) => void) | undefined;
}

/**
 * The engine of one process: its timers are this process's, and its work dies with it. What was due then is found in the
 * journal by the worker that comes next.
 */
export function createTimersEngine(options: TimersOptions = {}): Engine {
  return new TimersEngine(options);
}

class TimersEngine implements Engine {
  readonly #options: { readonly [K in keyof TimersOptions]-?: NonNullable<TimersOptions[K]> };
  readonly #items = new Map<string, Item>();
  readonly #active = new Set<Promise<void>>();
  readonly #end = new AbortController();
  readonly #free = { slices: 0, local: 0 };
  #handlers: EngineHandlers | null = null;
  #timer: { cancel(): void } | null = null;

  constructor({ now = Date.now, setTimer = timer, onError = () => {} }: TimersOptions) {
    this.#options = { now, setTimer, onError };
  }

  async wake(runId: string, { at = this.#options.now(), priority = 0 }: WakeOptions = {}): Promise<void> {
    const item = this.#items.get(runId);
    if (item === undefined) {
      const perform: Item["perform"] = (handlers, signal) => handlers.slice(runId, signal);
      this.#add(runId, { dueAt: at, priority, perform, kind: "slices" });
    } else if (item.isActive) {
      item.again = { at: Math.min(at, item.again?.at ?? at), priority };
    } else {
      item.dueAt = Math.min(at, item.dueAt);
      item.priority = Math.max(priority, item.priority);
    }
    this.#look();
  }

  async delegate(work: LocalWork): Promise<void> {
    const key = keyOfWork(work);
    if (this.#items.has(key)) return;
    const perform: Item["perform"] = async (handlers, signal) => {
      await handlers.local(work, signal);
      return null;
    };
    this.#add(key, { dueAt: this.#options.now(), priority: -(work.place ?? 0), perform, kind: "local" });
    this.#look();
  }

  async process(handlers: EngineHandlers, { slices, local }: ProcessOptions): Promise<void> {
    this.#handlers = handlers;
    Object.assign(this.#free, { slices, local });
    this.#look();
  }

  async close({ drainMs = Number.POSITIVE_INFINITY } = {}): Promise<void> {
    this.#handlers = null;
    this.#timer?.cancel();
    this.#end.abort(new Error("The worker stops."));
    const drained = Promise.allSettled(this.#active);
    if (drainMs === Number.POSITIVE_INFINITY) return void (await drained);
    let late: { cancel(): void } | null = null;
    await Promise.race([
      drained,
      new Promise<void>((resolve) => {
        late = this.#options.setTimer(drainMs, resolve);
      }),
    ]);
    (late as { cancel(): void } | null)?.cancel();
  }

  #add(key: string, item: Pick<Item, "dueAt" | "priority" | "perform" | "kind">): void {
    this.#items.set(key, { ...item, failures: 0, isActive: false, again: null });
  }

  /** Starts what is due, as far as there is room, and sets the timer for what is not. */
  #look(): void {
    if (this.#handlers === null) return;
    const now = this.#options.now();
    const waiting = [...this.#items].filter(([, { isActive }]) => !isActive);
    const due = waiting.filter(([, { dueAt }]) => dueAt <= now);
    due.sort(([, a], [, b]) => b.priority - a.priority || a.dueAt - b.dueAt);
    for (const [key, item] of due) {
      if (this.#free[item.kind] > 0) this.#start(key, item, this.#handlers);
    }
    this.#timer?.cancel();
    const next = Math.min(...waiting.map(([, { dueAt }]) => dueAt).filter((at) => at > now));
    this.#timer = Number.isFinite(next) ? this.#options.setTimer(next - now, () => this.#look()) : null;
  }

  #start(key: string, item: Item, handlers: EngineHandlers): void {
    item.isActive = true;
    this.#free[item.kind]--;
    const work = this.#perform(key, item, handlers).finally(() => {
      this.#active.delete(work);
      this.#free[item.kind]++;
      this.#look();
    });
    this.#active.add(work);
  }

  async #perform(key: string, item: Item, handlers: EngineHandlers): Promise<void> {
    let next: number | null;
    try {
      next = await item.perform(handlers, this.#end.signal);
      item.failures = 0;
    } catch (error) {
      this.#options.onError(error, key);
      next = this.#options.now() + Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** item.failures++);
    }
    const { again } = item;
    const dueAt = again === null ? next : Math.min(again.at!, next ?? Number.POSITIVE_INFINITY);
    if (dueAt === null) return void this.#items.delete(key);
    Object.assign(item, { dueAt, priority: again?.priority ?? 0, isActive: false, again: null });
  }
}

function timer(delayMs: number, fire: () => void): { cancel(): void } {
  // Longer ones would overflow; what is not due then is looked at once more.
  const handle = setTimeout(fire, Math.min(delayMs, 2 ** 31 - 1));
  return { cancel: () => clearTimeout(handle) };
}
