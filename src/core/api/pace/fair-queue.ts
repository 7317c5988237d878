import TinyQueue from "tinyqueue";

/**
 * A request's place in the queue: its run, and the group of runs (`share`) that the run belongs to. The groups take
 * turns, and so do the runs within a group.
 */
export interface Turn {
  readonly share: string;
  /** How many turns this share gets per turn of a share with weight 1. Default: 1. */
  readonly weight?: number | undefined;
  readonly run: string;
}

/** A request's priority and, if it belongs to a run, the run's turn. Within a run, higher priorities go first. */
export type Priority = number | { readonly level: number; readonly turn: Turn };

export interface Waiting {
  readonly priority: number;
  readonly order: number;
  readonly turn?: Turn | undefined;
  readonly over: boolean;
}

interface Line<T> {
  readonly length: number;
  push(entry: T): void;
  head(): T | undefined;
  pop(): T | undefined;
}

/** Requests that belong to no run are sent before all others if they have at least this priority. */
const AHEAD_OF_ALL = 200;

/** A queue in which a run with thousands of requests does not delay other runs. */
export class FairQueue<T extends Waiting> implements Line<T> {
  readonly #ahead = new PriorityLine<T>();
  readonly #shares = new Turns<T>(
    ({ turn }) => ({ key: turn?.share ?? "", weight: turn?.weight ?? 1 }),
    () =>
      new Turns<T>(
        ({ turn }) => ({ key: turn?.run ?? "", weight: 1 }),
        () => new PriorityLine<T>(),
      ),
  );

  get length(): number {
    return this.#ahead.length + this.#shares.length;
  }

  push(entry: T): void {
    const isAhead = entry.turn === undefined && entry.priority >= AHEAD_OF_ALL;
    (isAhead ? this.#ahead : this.#shares).push(entry);
  }

  head(): T | undefined {
    return this.#ahead.head() ?? this.#shares.head();
  }

  pop(): T | undefined {
    return this.#ahead.pop() ?? this.#shares.pop();
  }
}

export function compare(a: Waiting, b: Waiting): number {
  return b.priority - a.priority || a.order - b.order;
}

class PriorityLine<T extends Waiting> implements Line<T> {
  readonly #entries = new TinyQueue<T>([], compare);

  get length(): number {
    return this.#entries.length;
  }

  push(entry: T): void {
    this.#entries.push(entry);
  }

  head(): T | undefined {
    while (this.#entries.peek()?.over) this.#entries.pop();
    return this.#entries.peek();
  }

  pop(): T | undefined {
    return this.head() && this.#entries.pop();
  }
}

interface Flow<T> {
  readonly key: string;
  readonly line: Line<T>;
  weight: number;
  /** Turns taken, divided by the weight. The flow with the lowest value goes next. */
  had: number;
  readonly order: number;
}

/** Start-time fair queueing: flows get turns in proportion to their weights. */
class Turns<T extends Waiting> implements Line<T> {
  readonly #keyOf: (entry: T) => { readonly key: string; readonly weight: number };
  readonly #newLine: () => Line<T>;
  readonly #flows = new Map<string, Flow<T>>();
  readonly #queue = new TinyQueue<Flow<T>>([], (a, b) => a.had - b.had || a.order - b.order);
  #now = 0;
  #order = 0;

  constructor(keyOf: (entry: T) => { readonly key: string; readonly weight: number }, newLine: () => Line<T>) {
    this.#keyOf = keyOf;
    this.#newLine = newLine;
  }

  get length(): number {
    return [...this.#flows.values()].reduce((sum, { line }) => sum + line.length, 0);
  }

  push(entry: T): void {
    const { key, weight } = this.#keyOf(entry);
    let flow = this.#flows.get(key);
    if (flow === undefined) {
      flow = { key, line: this.#newLine(), weight, had: this.#now, order: this.#order++ };
      this.#flows.set(key, flow);
      this.#queue.push(flow);
    }
    flow.weight = weight;
    flow.line.push(entry);
  }

  head(): T | undefined {
    for (let flow = this.#queue.peek(); flow !== undefined; flow = this.#queue.peek()) {
      const head = flow.line.head();
      if (head !== undefined) return head;
      this.#queue.pop();
      this.#flows.delete(flow.key);
    }
    return undefined;
  }

  pop(): T | undefined {
    const head = this.head();
    const flow = head && this.#queue.pop();
    if (flow === undefined) return undefined;
    flow.line.pop();
    this.#now = flow.had;
    // An empty flow keeps its place in the queue, so that it cannot jump ahead when it gets new entries.
    flow.had += 1 / flow.weight;
    this.#queue.push(flow);
    return head;
  }
}
