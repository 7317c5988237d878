/** Deepest nesting of a JSON body. */
export const MAX_DEPTH = 64;
/** Most values of a JSON body, in all its lists and objects. */
export const MAX_VALUES = 20_000;
/** Most fields of one object. */
export const MAX_FIELDS = 1000;

export type Excess = "max_depth" | "max_values" | "max_fields";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const OPEN_LIST = 0x5b;
const CLOSE_OBJECT = 0x7d;
const CLOSE_LIST = 0x5d;

/**
 * Counts what a JSON text holds while its bytes arrive, so that one which nests too deep or holds too much is refused
 * before it is read whole and parsed. It does not judge whether the text is JSON.
 */
export class JsonSize {
  #inText = false;
  /** Whether the bytes so far end within an escape. */
  #escaped = false;
  #values = 0;
  /** By depth: true for an object, and how many commas it has had. */
  readonly #open: { isObject: boolean; commas: number }[] = [];

  /** What is too much, as soon as it is; null as long as nothing is. */
  add(bytes: Uint8Array): Excess | null {
    for (let at = 0; at < bytes.length; ) {
      if (this.#inText) at = this.#skipText(bytes, at);
      else {
        const excess = this.#outside(bytes[at]!);
        if (excess !== null) return excess;
        at += 1;
      }
    }
    return null;
  }

  /** Where the text ends that `at` lies in, or the bytes do. */
  #skipText(bytes: Uint8Array, at: number): number {
    const quote = bytes.indexOf(QUOTE, at);
    const end = quote < 0 ? bytes.length : quote;
    let first = end;
    while (first > at && bytes[first - 1] === BACKSLASH) first -= 1;
    const isEscaped = ((end - first) % 2 === 1) !== (first === at && this.#escaped);
    this.#escaped = quote < 0 && isEscaped;
    this.#inText = quote < 0 || isEscaped;
    return end + (quote < 0 ? 0 : 1);
  }

  #outside(byte: number): Excess | null {
    switch (byte) {
      case QUOTE:
        this.#inText = true;
        return null;
      case OPEN_OBJECT:
      case OPEN_LIST:
        this.#open.push({ isObject: byte === OPEN_OBJECT, commas: 0 });
        if (this.#open.length > MAX_DEPTH) return "max_depth";
        return this.#count();
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        this.#open.pop();
        return null;
      case COMMA:
        return this.#comma();
      default:
        return null;
    }
  }

  #comma(): Excess | null {
    const inner = this.#open.at(-1);
    if (inner) inner.commas += 1;
    return inner?.isObject && inner.commas >= MAX_FIELDS ? "max_fields" : this.#count();
  }

  #count(): Excess | null {
    this.#values += 1;
    return this.#values > MAX_VALUES ? "max_values" : null;
  }
}
