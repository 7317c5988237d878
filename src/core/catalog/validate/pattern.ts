import { createRequire } from "node:module";

export interface Matcher {
  test(text: string): boolean;
  /** The string must be unique to this pattern. */
  toString(): string;
}

export interface ReadPattern {
  readonly matcher: Matcher;
  /** False if matching may take exponential time. */
  readonly isLinear: boolean;
}

const load = createRequire(import.meta.url);

const SPACES: readonly (readonly [number, number])[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const LAST = 0x10ffff;

const isCharacter = (code: number) => code <= LAST && (code < 0xd800 || code > 0xdfff);
const range = (from: number, to: number) => `\\x{${from.toString(16)}}-\\x{${to.toString(16)}}`;
const spaces = SPACES.map(([from, to]) => range(from, to)).join("");
const others = [...SPACES.map(([from]) => from), LAST + 1]
  .map((next, index) => range(index === 0 ? 0 : SPACES[index - 1]![1] + 1, next - 1))
  .join("");

/** Uses a linear-time engine, or JavaScript's engine if the pattern needs it. */
export function readPattern(pattern: string): ReadPattern {
  const native = new RegExp(pattern);
  const translated = translate(pattern);
  if (translated === null) return { matcher: native, isLinear: false };
  try {
    const { RE2JS } = load("re2js") as typeof import("re2js");
    const linear = RE2JS.compile(translated);
    return { matcher: { test: (text) => linear.test(text), toString: () => native.toString() }, isLinear: true };
  } catch {
    return { matcher: native, isLinear: false };
  }
}

/** Translates a pattern to the linear-time engine's syntax; null for syntax that the engine lacks. */
function translate(pattern: string): string | null {
  const created: string[] = [];
  let inClass = false;
  for (let at = 0; at < pattern.length; ) {
    const unit = unitAt(pattern, at, inClass);
    const text = inClass ? inside(unit) : outside(unit);
    if (text === null) return null;
    created.push(text);
    if (inClass ? unit === "]" : unit === "[" || unit === "[^") inClass = !inClass;
    at += unit.length;
  }
  return created.join("");
}

function unitAt(pattern: string, at: number, inClass: boolean): string {
  const rest = pattern.slice(at, at + 16);
  const sequence = /^\\(?:u\{[\da-f]+\}|u[\da-f]{4}|x[\da-f]{2}|c[a-z]|p\{\w+\}|[\s\S])/i.exec(rest)?.[0];
  if (sequence !== undefined) return sequence;
  const opening = inClass ? undefined : /^\[\^?\]?/.exec(rest)?.[0];
  return opening ?? String.fromCodePoint(pattern.codePointAt(at)!);
}

function outside(unit: string): string | null {
  if (unit === "\\s") return `[${spaces}]`;
  if (unit === "\\S") return `[${others}]`;
  if (unit === "[]") return `[^${range(0, LAST)}]`;
  if (unit === "[^]") return `[${range(0, LAST)}]`;
  if (unit === ".") return "[^\\n\\r\\x{2028}\\x{2029}]";
  return unit.startsWith("\\") ? escaped(unit) : unit;
}

function inside(unit: string): string | null {
  if (unit === "\\s") return spaces;
  if (unit === "\\S") return others;
  if (unit === "\\b") return "\\x{8}";
  if (unit === "[") return "\\[";
  return unit.startsWith("\\") ? escaped(unit) : unit;
}

function escaped(unit: string): string | null {
  const code = /^\\[ux]\{?([\da-f]+)\}?$/i.exec(unit)?.[1];
  if (code !== undefined) return isCharacter(Number.parseInt(code, 16)) ? `\\x{${code}}` : null;
  if (/^\\c./.test(unit)) return `\\x{${(unit.charCodeAt(2) % 32).toString(16)}}`;
  if (/^\\[1-9k]/.test(unit)) return null;
  if (unit === "\\0") return "\\x{0}";
  if (/^\\(?:[dDwWbBtnrfv]|[pP]\{)/.test(unit)) return unit;
  // An escape without a special meaning is the character itself.
  return /^\\\w/.test(unit) ? unit.slice(1) : unit;
}
