/** A call due at an instant of the service's clock. Cancelled ones stay in the heap until they surface. */
export interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly call: () => void;
  cancelled: boolean;
}

function before(a: Timer, b: Timer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

/** A binary heap: earliest first, and first come first among equals. */
export class TimerHeap {
  readonly #items: Timer[] = [];

  /** The earliest timer that still counts. */
  peek(): Timer | undefined {
    while (this.#items[0]?.cancelled) this.#removeFirst();
    return this.#items[0];
  }

  push(timer: Timer): void {
    this.#items.push(timer);
    this.#rise(this.#items.length - 1);
  }

  pop(): Timer | undefined {
    const first = this.peek();
    if (first) this.#removeFirst();
    return first;
  }

  clear(): void {
    this.#items.length = 0;
  }

  #removeFirst(): void {
    const last = this.#items.pop();
    if (!last || this.#items.length === 0) return;
    this.#items[0] = last;
    this.#sink(0);
  }

  #rise(index: number): void {
    const parent = (index - 1) >> 1;
    if (index === 0 || !before(this.#items[index]!, this.#items[parent]!)) return;
    this.#swap(index, parent);
    this.#rise(parent);
  }

  #sink(index: number): void {
    const smallest = [2 * index + 1, 2 * index + 2]
      .filter((child) => child < this.#items.length)
      .reduce((best, child) => (before(this.#items[child]!, this.#items[best]!) ? child : best), index);
    if (smallest === index) return;
    this.#swap(index, smallest);
    this.#sink(smallest);
  }

  #swap(a: number, b: number): void {
    const held = this.#items[a]!;
    this.#items[a] = this.#items[b]!;
    this.#items[b] = held;
  }
}
