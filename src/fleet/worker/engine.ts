import TinyQueue from "tinyqueue";
import type { LocalWork } from "../../core/engine/index.ts";

/**
 * Distributes runs across processes on one or more machines. An engine gives processes work, sets timers, retries
 * failed work, and reassigns the work of dead processes. The journal, not the engine, determines what a run does next.
 */
export interface Engine {
  /** True if the queue exists only in this process. If the process dies, a later one finds the work in the journal. */
  readonly isOfProcess?: true;
  /**
   * Schedules a slice of the run, immediately or at the given time. In a slice, a worker does everything that is due.
   * If a run has several pending wakes, only the earliest is kept. A wake that arrives during a slice schedules another
   * one. If the engine stores its work, the promise resolves only once the wake is stored.
   */
  wake(runId: string, options?: WakeOptions): Promise<void>;
  /**
   * Schedules a call to a local function, which any process may execute. Does nothing if the call is already scheduled.
   * Calls with the lowest `place` go first.
   */
  delegate(work: LocalWork): Promise<void>;
  /**
   * Starts taking work. A run has one slice at a time across all processes. If a handler rejects, the engine calls it
   * again with increasing delays. If a process dies during a handler, another process repeats the work.
   */
  process(handlers: EngineHandlers, options: ProcessOptions): Promise<void>;
  /**
   * Stops taking work and aborts the signals of work in progress. Resolves once that work has ended, or after
   * `drainMs`. Another process then takes over any unfinished work.
   */
  close(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}

/** When to wake a run, and how urgently. */
export interface WakeOptions {
  /** When to wake the run, in epoch milliseconds. Default: immediately. */
  readonly at?: number | undefined;
  /** Priority among the wakes that are due. Higher values go first. Default 0. */
  readonly priority?: number | undefined;
}

/** The worker functions that the engine calls to execute work. */
export interface EngineHandlers {
  /**
   * Executes one slice of a run: does everything that is due. Returns when to wake the run again, in epoch
   * milliseconds, or null to schedule no wake.
   */
  slice(runId: string, signal: AbortSignal): Promise<number | null>;
  /** Executes one of a run's local functions and delivers the result. */
  local(work: LocalWork, signal: AbortSignal): Promise<void>;
}

/** Limits on the concurrent work of a process. */
export interface ProcessOptions {
  /** Maximum number of concurrent slices in this process. */
  readonly slices: number;
  /** Maximum number of concurrent local functions in this process. */
  readonly local: number;
}

/** Returns the key of local work. Each attempt and each rerun has a different key. */
export function keyOfWork({ runId, command, of }: LocalWork): string {
  return `${runId} ${command.type}:${command.step} ${of}`;
}

const [FIRST_RETRY_MS, LONGEST_RETRY_MS] = [1_000, 60_000];

interface Item {
  readonly key: string;
  dueAt: number;
  priority: number;
  failures: number;
  isActive: boolean;
  /** A wake-up that was requested while the work was in progress. */
  again: WakeOptions | null;
  /** The current queue entry for this work. Older entries for the same work are ignored. */
  entry: Entry | null;
  /** Executes the work. Resolves with the time of the next call, or null if there is none. */
  readonly perform: (handlers: EngineHandlers, signal: AbortSignal) => Promise<number | null>;
  readonly kind: keyof ProcessOptions;
}

interface Entry {
  readonly item: Item;
  readonly at: number;
  readonly priority: number;
}

const earliest = (a: Entry, b: Entry) => a.at - b.at;
const mostUrgent = (a: Entry, b: Entry) => b.priority - a.priority || a.at - b.at;

/** Options for `createTimersEngine`. */
export interface TimersOptions {
  /** Returns the current time in epoch milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Sets a timer. Default `setTimeout`. */
  readonly setTimer?: ((delayMs: number, fire: () => void) => { cancel(): void }) | undefined;
  /** Called when a handler fails. The engine then calls the handler again. */
  readonly onError?: ((error: unknown, what: string) => void) | undefined;
}

/**
 * Creates an engine for one process. Its timers and its work end with the process, but a later worker finds due runs in
 * the journal.
 */
export function createTimersEngine(options: TimersOptions = {}): Engine {
  return new TimersEngine(options);
}

class TimersEngine implements Engine {
  readonly isOfProcess = true;
  readonly #options: { readonly [K in keyof TimersOptions]-?: NonNullable<TimersOptions[K]> };
  readonly #items = new Map<string, Item>();
  readonly #later = new TinyQueue<Entry>([], earliest);
  readonly #due = { slices: new TinyQueue<Entry>([], mostUrgent), local: new TinyQueue<Entry>([], mostUrgent) };
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
      this.#queue(item);
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
    const late = Promise.withResolvers<void>();
    const timer = this.#options.setTimer(drainMs, late.resolve);
    await Promise.race([drained, late.promise]);
    timer.cancel();
  }

  #add(key: string, what: Pick<Item, "dueAt" | "priority" | "perform" | "kind">): void {
    const item: Item = { ...what, key, failures: 0, isActive: false, again: null, entry: null };
    this.#items.set(key, item);
    this.#queue(item);
  }

  #queue(item: Item): void {
    const { dueAt: at, priority, entry } = item;
    if (entry?.at === at && entry.priority === priority) return;
    item.entry = { item, at, priority };
    this.#later.push(item.entry);
  }

  #look(): void {
    if (this.#handlers === null) return;
    const now = this.#options.now();
    let next = first(this.#later);
    for (; next !== undefined && next.at <= now; next = first(this.#later)) {
      this.#later.pop();
      this.#due[next.item.kind].push(next);
    }
    for (const kind of ["slices", "local"] as const) {
      const due = this.#due[kind];
      while (this.#free[kind] > 0 && first(due) !== undefined) this.#start(due.pop()!.item, this.#handlers);
    }
    this.#timer?.cancel();
    this.#timer = next === undefined ? null : this.#options.setTimer(next.at - now, () => this.#look());
  }

  #start(item: Item, handlers: EngineHandlers): void {
    item.isActive = true;
    item.entry = null;
    this.#free[item.kind]--;
    const work = this.#perform(item, handlers).finally(() => {
      this.#active.delete(work);
      this.#free[item.kind]++;
      this.#look();
    });
    this.#active.add(work);
  }

  async #perform(item: Item, handlers: EngineHandlers): Promise<void> {
    let next: number | null;
    try {
      next = await item.perform(handlers, this.#end.signal);
      item.failures = 0;
    } catch (error) {
      this.#options.onError(error, item.key);
      next = this.#options.now() + Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** item.failures++);
    }
    const { again } = item;
    const dueAt = again === null ? next : Math.min(again.at!, next ?? Number.POSITIVE_INFINITY);
    if (dueAt === null) return void this.#items.delete(item.key);
    Object.assign(item, { dueAt, priority: again?.priority ?? 0, isActive: false, again: null });
    this.#queue(item);
  }
}

function first(queue: TinyQueue<Entry>): Entry | undefined {
  for (;;) {
    const entry = queue.peek();
    if (entry === undefined || entry === entry.item.entry) return entry;
    queue.pop();
  }
}

function timer(delayMs: number, fire: () => void): { cancel(): void } {
  // A longer delay would overflow. If the timer fires early, the queue is only checked again.
  const handle = setTimeout(fire, Math.min(delayMs, 2 ** 31 - 1));
  return { cancel: () => clearTimeout(handle) };
}
