import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const WINDOW_BYTES = 65_536;

/** Reads a file synchronously through a moving window, so it belongs on a worker thread. */
export class Bytes implements Disposable {
  readonly size: number;
  readonly #file: number;
  readonly #buffer = Buffer.alloc(WINDOW_BYTES);
  #window = { at: 0, size: 0 };

  constructor(path: string) {
    this.#file = openSync(path, "r");
    this.size = fstatSync(this.#file).size;
  }

  /** Reads up to 64 KiB, less at the end of the file. The returned buffer is valid only until the next call. */
  read(at: number, length: number): Buffer {
    const end = Math.min(at + Math.min(length, WINDOW_BYTES), this.size);
    if (at >= end) return Buffer.alloc(0);
    if (at < this.#window.at || end > this.#window.at + this.#window.size) {
      this.#window = { at, size: readSync(this.#file, this.#buffer, 0, WINDOW_BYTES, at) };
    }
    const from = at - this.#window.at;
    return this.#buffer.subarray(from, Math.min(from + end - at, this.#window.size));
  }

  head(length: number): Buffer {
    const bytes = Buffer.alloc(Math.min(length, this.size));
    return bytes.subarray(0, readSync(this.#file, bytes, 0, bytes.length, 0));
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

/** `next` returns where the next part begins, or the result of the check. */
export function walk(from: number, next: (at: number) => number | Whole): Whole {
  for (let at = from; ; ) {
    const then = next(at);
    if (typeof then !== "number") return then;
    if (!(then > at)) return UNJUDGED;
    at = then;
  }
}

export interface Whole {
  readonly lacks: string | null;
}

export const WHOLE: Whole = { lacks: null };
/** The result for a file whose end cannot be checked. */
export const UNJUDGED: Whole = { lacks: null };

export function lacking(what: string): Whole {
  return { lacks: what };
}
