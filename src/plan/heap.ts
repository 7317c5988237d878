/** A priority queue: `pop` gives the item that goes before all others. */
export interface Heap<T> {
  readonly size: number;
  peek(): T | undefined;
  push(item: T): void;
  pop(): T | undefined;
}

export function createHeap<T>(goesBefore: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = [];
  const swap = (a: number, b: number) => {
    [items[a], items[b]] = [items[b]!, items[a]!];
  };
  const rise = (from: number) => {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!goesBefore(items[at]!, items[parent]!)) return;
      swap(at, parent);
      at = parent;
    }
  };
  const sink = () => {
    for (let at = 0; ; ) {
      let first = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < items.length && goesBefore(items[child]!, items[first]!)) first = child;
      }
      if (first === at) return;
      swap(at, first);
      at = first;
    }
  };
  return {
    get size() {
      return items.length;
    },
    peek: () => items[0],
    push(item) {
      items.push(item);
      rise(items.length - 1);
    },
    pop() {
      if (items.length > 1) swap(0, items.length - 1);
      const item = items.pop();
      sink();
      return item;
    },
  };
}
