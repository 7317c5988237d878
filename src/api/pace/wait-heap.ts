/** Something that waits its turn. */
export interface Waiting {
  readonly priority: number;
  /** Rises with arrival. */
  readonly order: number;
}

/** A queue in which the highest priority goes first, and among equals who came first. */
export class WaitHeap<T extends Waiting> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    let at = this.#items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#before(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): T | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (first === undefined || last === undefined || this.#items.length === 0) return first;
    this.#items[0] = last;
    this.#sink();
    return first;
  }

  drain(): T[] {
    return this.#items.splice(0);
  }

  #sink(): void {
    for (let at = 0; ; ) {
      let next = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#items.length && this.#before(child, next)) next = child;
      }
      if (next === at) return;
      this.#swap(at, next);
      at = next;
    }
  }

  #before(left: number, right: number): boolean {
    const [a, b] = [this.#items[left]!, this.#items[right]!];
    return a.priority !== b.priority ? a.priority > b.priority : a.order < b.order;
  }

  #swap(left: number, right: number): void {
    const held = this.#items[left]!;
    this.#items[left] = this.#items[right]!;
    this.#items[right] = held;
  }
}
