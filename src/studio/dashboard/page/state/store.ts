import { useEffect, useState } from "preact/hooks";

export type Store<T> = ReturnType<typeof createStore<T>>;

export function createStore<T>(initial: T) {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next: T | ((now: T) => T)) {
      value = typeof next === "function" ? (next as (now: T) => T)(value) : next;
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<T>(store: Store<T>): T {
  const [, draw] = useState({});
  useEffect(() => {
    const unsubscribe = store.subscribe(() => draw({}));
    draw({});
    return unsubscribe;
  }, [store]);
  return store.get();
}
