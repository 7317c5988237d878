/** Where a value stands within another: keys and list positions. */
export type JsonPath = readonly (string | number)[];

/** `a.b[0]`; a key that is no plain word is quoted: `a["x y"]`. */
export function pathText(path: JsonPath): string {
  return path
    .map((part, index) => {
      if (typeof part === "number") return `[${part}]`;
      if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(part)) return `[${JSON.stringify(part)}]`;
      return index === 0 ? part : `.${part}`;
    })
    .join("");
}

/** How deep a body may nest; none of v2's own goes beyond five. */
export const MAX_DEPTH = 40;

/** True for values that nest deeper than any v2 body. Looks without recursion, so that no input is too deep for it. */
export function isTooDeep(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return false;
}

export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
