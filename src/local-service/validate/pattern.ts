import { RE2JS } from "re2js";

/** The interface that ajv expects of a pattern. */
export interface Matcher {
  test(text: string): boolean;
  /** Identifies a pattern in compiled code. */
  toString(): string;
}

export interface Pattern {
  readonly matcher: Matcher;
  /** Matching takes linear time. Otherwise it may not terminate, and needs a time limit. */
  readonly isLinear: boolean;
}

/** One token of a pattern: an escape, a bracket of a class, or a character. */
const UNIT =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u\{[\da-fA-F]{1,6}\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\c[A-Za-z]|\\[pP]\{[^}]*\}|\\[\s\S]|\[\^?\]?|[\s\S]/gu;

/** JavaScript's white space; RE2's own is ASCII only. */
const SPACE = "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const NO_SPACE =
  "\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
const ANY = "\\x{0}-\\x{10ffff}";
/** Escapes that mean the same in both. */
const SHARED = /^\\(?:[dDwWbBtnrfv]|[pP]\{.*\}|[^\da-zA-Z])$/u;

const codePoint = (code: number) => `\\x{${code.toString(16)}}`;

function numbered(unit: string): string | null {
  const [, braced, pair, hex] = /^\\u\{(.+)\}$|^((?:\\u.{4}){2})$|^\\[ux](.{2,4})$/u.exec(unit) ?? [];
  if (pair !== undefined) return codePoint(JSON.parse(`"${pair}"`).codePointAt(0));
  const digits = braced ?? hex;
  if (digits === undefined) return null;
  const code = Number.parseInt(digits, 16);
  // RE2 has no lone surrogates, and then rejects the escape.
  return code >= 0xd800 && code <= 0xdfff ? unit : codePoint(code);
}

function escaped(unit: string, inClass: boolean): string {
  if (unit === "\\s") return inClass ? SPACE : `[${SPACE}]`;
  if (unit === "\\S") return inClass ? NO_SPACE : `[${NO_SPACE}]`;
  if (inClass && unit === "\\b") return codePoint(8);
  if (SHARED.test(unit)) return unit;
  if (/^\\c.$/.test(unit)) return codePoint(unit.charCodeAt(2) & 31);
  if (unit === "\\0") return codePoint(0);
  // Backreferences have no linear form: RE2 rejects them too.
  return numbered(unit) ?? (/^\\[\dk]$/.test(unit) ? unit : unit.slice(1));
}

/**
 * Translates a JavaScript pattern to RE2 syntax. What RE2 does not support, such as look-around, is left for RE2 to
 * reject.
 */
function toRe2(pattern: string): string {
  let inClass = false;
  return pattern.replaceAll(UNIT, (unit) => {
    if (unit.startsWith("\\")) return escaped(unit, inClass);
    if (inClass) {
      if (unit === "]") inClass = false;
      return unit.startsWith("[") ? `\\${unit.slice(0, 1)}${endOf(unit)}` : unit;
    }
    if (unit === "[]") return `[^${ANY}]`;
    if (unit === "[^]") return `[${ANY}]`;
    if (unit.startsWith("[")) inClass = true;
    return unit === "." ? "[^\\n\\r\\x{2028}\\x{2029}]" : unit;
  });

  function endOf(unit: string): string {
    if (unit.endsWith("]")) inClass = false;
    return unit.slice(1);
  }
}

/** A pattern without repetition or alternation cannot backtrack. */
const isPlain = (pattern: string) =>
  !/[*+?{|]|\\[1-9k]/.test(pattern.replaceAll(/\\[^1-9k]|\[(?:\\[\s\S]|[^\]\\])*\]/g, ""));

function native(pattern: string): RegExp {
  try {
    // Unicode properties are only recognized with the `u` flag, which in turn rejects needless escapes.
    if (/\\[pP]\{/.test(pattern)) return new RegExp(pattern, "u");
  } catch {
    // Parsed without the flag.
  }
  return new RegExp(pattern);
}

/** Compiles a pattern of an untrusted schema. @throws SyntaxError when it is invalid in JavaScript */
export function readPattern(pattern: string): Pattern {
  const expression = native(pattern);
  if (isPlain(pattern)) return { matcher: expression, isLinear: true };
  try {
    const compiled = RE2JS.compile(toRe2(pattern));
    return { matcher: { test: (text) => compiled.test(text), toString: () => `/${pattern}/` }, isLinear: true };
  } catch {
    return { matcher: expression, isLinear: false };
  }
}
