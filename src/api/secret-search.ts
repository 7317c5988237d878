/** How a secret may be written. */
export interface SecretForm {
  /** Its first characters, at least {@link BEGINNING} of them, none of them escaped. */
  readonly begins: string;
  /** The expression of the whole. */
  readonly source: string;
}

/** Characters by which forms are distinguished; the expression of a form is tried only where these stand. */
export const BEGINNING = 8;

interface Node {
  readonly next: Map<number, Node>;
  readonly forms: RegExp[];
}

const PERCENT = 0x25;
const BACKSLASH = 0x5c;

/** Takes any of many secrets out of a text that it goes over once: a body is megabytes long, and each answer may set a cookie. */
export class SecretSearch {
  readonly #root = emptyNode();

  add({ begins, source }: SecretForm): void {
    let node = this.#root;
    for (let at = 0; at < BEGINNING; at++) {
      const code = folded(begins.charCodeAt(at));
      const next = node.next.get(code) ?? emptyNode();
      node.next.set(code, next);
      node = next;
    }
    node.forms.push(new RegExp(source, "iy"));
  }

  /** Secrets that overlap go together. */
  replace(text: string, by: string): string {
    let [kept, end] = ["", 0];
    for (let start = 0; start < text.length; start++) {
      const found = endOf(this.#root, text, { start, at: start });
      if (found === 0) continue;
      if (start >= end) kept += text.slice(end, start) + by;
      end = Math.max(end, found);
    }
    return kept + text.slice(end);
  }
}

function emptyNode(): Node {
  return { next: new Map(), forms: [] };
}

/** Where the longest secret ends that begins at `start`, and is known up to `at`; 0 for none. */
function endOf(node: Node, text: string, { start, at }: { readonly start: number; readonly at: number }): number {
  let longest = 0;
  for (const form of node.forms) {
    form.lastIndex = start;
    if (form.test(text)) longest = Math.max(longest, form.lastIndex);
  }
  const follow = (code: number, length: number) => {
    const next = node.next.get(folded(code));
    if (next !== undefined) longest = Math.max(longest, endOf(next, text, { start, at: at + length }));
  };
  const code = text.charCodeAt(at);
  follow(code, 1);
  if (code === PERCENT) follow(Number.parseInt(text.slice(at + 1, at + 3), 16), 3);
  if (code !== BACKSLASH) return longest;
  follow(text.charCodeAt(at + 1), 2);
  if (/^u00/i.test(text.slice(at + 1, at + 4))) follow(Number.parseInt(text.slice(at + 4, at + 6), 16), 6);
  return longest;
}

/** One code for letters of both cases, and for the two characters of each Base64. */
function folded(code: number): number {
  if (code >= 0x61 && code <= 0x7a) return code - 0x20;
  if (code === 0x2b) return 0x2d;
  return code === 0x5f ? 0x2f : code;
}
