/**
 * Counts a thread's decodes in flight, and whether the thread is closing; shared with the pool that closes it.
 * Terminating a thread during a decode makes the decoder report a memory leak on stderr.
 */
export interface DecodeGate {
  readonly cells: Int32Array<SharedArrayBuffer>;
}

const PENDING = 0;
const CLOSING = 1;
/** How long to wait for decodes in flight before terminating, in milliseconds. */
const LONGEST_DECODE_MS = 5_000;

export function newGate(): DecodeGate {
  return { cells: new Int32Array(new SharedArrayBuffer(8)) };
}

/** Runs the work unless the thread is closing; then the promise stays pending, and nothing waits for it. */
export async function passGate<T>({ cells }: DecodeGate, work: () => Promise<T>): Promise<T> {
  Atomics.add(cells, PENDING, 1);
  try {
    if (Atomics.load(cells, CLOSING) === 0) return await work();
  } finally {
    Atomics.sub(cells, PENDING, 1);
    Atomics.notify(cells, PENDING);
  }
  return new Promise<never>(() => {});
}

/** Starts no further work, and resolves when none is in flight. */
export async function closeGate({ cells }: DecodeGate): Promise<void> {
  Atomics.store(cells, CLOSING, 1);
  for (;;) {
    const pending = Atomics.load(cells, PENDING);
    if (pending === 0) return;
    const outcome = await Atomics.waitAsync(cells, PENDING, pending, LONGEST_DECODE_MS).value;
    if (outcome === "timed-out") return;
  }
}
