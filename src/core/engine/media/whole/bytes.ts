import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const WINDOW_BYTES = 65_536;

/** A file that a thread of its own reads, a window at a time. */
export class Bytes implements Disposable {
  readonly size: number;
  readonly #file: number;
  readonly #buffer = Buffer.alloc(WINDOW_BYTES);
  #window = { at: 0, size: 0 };

  constructor(path: string) {
    this.#file = openSync(path, "r");
    this.size = fstatSync(this.#file).size;
  }

  /** At most 64 KiB, fewer where the file ends; valid until the next call. */
  read(at: number, length: number): Buffer {
    const end = Math.min(at + Math.min(length, WINDOW_BYTES), this.size);
    if (at >= end) return Buffer.alloc(0);
    if (at < this.#window.at || end > this.#window.at + this.#window.size) {
      this.#window = { at, size: readSync(this.#file, this.#buffer, 0, WINDOW_BYTES, at) };
    }
    const from = at - this.#window.at;
    return this.#buffer.subarray(from, Math.min(from + end - at, this.#window.size));
  }

  /** The first bytes, at most so many. */
  head(length: number): Buffer {
    const bytes = Buffer.alloc(Math.min(length, this.size));
    return bytes.subarray(0, readSync(this.#file, bytes, 0, bytes.length, 0));
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

/**
 * Walks a file part by part: `next` answers where the part after the one at `at` begins, or how the walk ends. A part that
 * does not lie before the next one ends it too, so that no file keeps it going.
 */
export function walk(from: number, next: (at: number) => number | Whole): Whole {
  for (let at = from; ; ) {
    const then = next(at);
    if (typeof then !== "number") return then;
    if (!(then > at)) return UNJUDGED;
    at = then;
  }
}

/** `lacks`: what is missing at the end of the file; null where nothing is. */
export interface Whole {
  readonly lacks: string | null;
}

export const WHOLE: Whole = { lacks: null };
/** Unusual, and no sign of an end that is missing: whoever made the file knows better. */
export const UNJUDGED: Whole = { lacks: null };

export function lacking(what: string): Whole {
  return { lacks: what };
}
