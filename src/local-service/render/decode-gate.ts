/**
 * Decodes under way in a thread, and whether it is to end: shared with whoever ends it. A thread that is ended while it
 * decodes makes the decoder complain on stderr of a memory leak.
 */
export interface DecodeGate {
  readonly cells: Int32Array<SharedArrayBuffer>;
}

const PENDING = 0;
const CLOSING = 1;
/** A decode that takes longer is not waited for, milliseconds. */
const LONGEST_DECODE_MS = 5_000;

export function newGate(): DecodeGate {
  return { cells: new Int32Array(new SharedArrayBuffer(8)) };
}

/** Does the work, unless the thread is about to end: then nobody waits for what it would give. */
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

/** Lets no further work begin, and settles when none is under way. */
export async function closeGate({ cells }: DecodeGate): Promise<void> {
  Atomics.store(cells, CLOSING, 1);
  for (;;) {
    const pending = Atomics.load(cells, PENDING);
    if (pending === 0) return;
    const outcome = await Atomics.waitAsync(cells, PENDING, pending, LONGEST_DECODE_MS).value;
    if (outcome === "timed-out") return;
  }
}
