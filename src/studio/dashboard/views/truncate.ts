export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  // The end must not be in the middle of a surrogate pair.
  const end = /[\uD800-\uDBFF]/.test(text[most - 2] ?? "") ? most - 2 : most - 1;
  return `${text.slice(0, end)}…`;
}

export interface Cut {
  readonly value: unknown;
  readonly isCut: boolean;
}

export function cutJson(value: unknown, mostText = 4000, mostParts = 500): Cut {
  let parts = 0;
  let isCut = false;
  const walk = (part: unknown): unknown => {
    parts += 1;
    if (parts > mostParts) {
      isCut = true;
      return "…";
    }
    if (typeof part === "string") {
      if (part.length > mostText) isCut = true;
      return cut(part, mostText);
    }
    if (Array.isArray(part)) return few(part).map(walk);
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(few(Object.entries(part)).map(([name, item]) => [cut(name, 200), walk(item)]));
  };
  const few = <T>(items: readonly T[]): readonly T[] => {
    if (items.length > mostParts) isCut = true;
    return items.slice(0, mostParts);
  };
  return { value: walk(value), isCut };
}
