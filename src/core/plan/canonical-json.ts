import canonicalize from "canonicalize";

/**
 * Canonical JSON (RFC 8785), undefined for what JSON leaves out. The standard has no text with half of a character, as one that
 * was cut in the middle of an emoji: that half is written as its escape.
 */
export function canonicalJson(value: unknown): string | undefined {
  try {
    return canonicalize(value);
  } catch {
    return canonicalize(withoutHalves(value));
  }
}

function withoutHalves(value: unknown): unknown {
  if (typeof value === "string") return value.replace(/\p{Surrogate}/gu, escaped);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutHalves);
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([name, item]) => [withoutHalves(name), withoutHalves(item)]));
}

const escaped = (half: string) => `\\u${half.charCodeAt(0).toString(16)}`;
