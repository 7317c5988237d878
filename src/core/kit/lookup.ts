/** Looks up a name in a record. Returns undefined for inherited names such as `constructor` and `__proto__`. */
export function own<T>(record: { readonly [name: string]: T }, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

export function suggest(name: string, candidates: Iterable<string>): readonly string[] {
  // Short words are nearly all similar to each other.
  const limit = name.length < 4 ? Math.floor(name.length / 3) : Math.max(2, Math.floor(name.length / 3));
  const scored: { readonly candidate: string; readonly distance: number }[] = [];
  for (const candidate of candidates) {
    const distance = similar(name, candidate) ? 0 : editDistance(plain(name), plain(candidate), limit);
    if (distance <= limit) scored.push({ candidate, distance });
  }
  return scored
    .sort((a, b) => a.distance - b.distance || a.candidate.localeCompare(b.candidate, "en"))
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

export function didYouMean(name: string, candidates: Iterable<string>): string | null {
  const found = suggest(name, candidates);
  return found.length === 0 ? null : `did you mean ${found.join(" or ")}?`;
}

const plain = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

function similar(name: string, candidate: string): boolean {
  const [a, b] = [plain(name), plain(candidate)];
  return a === b || (a.length >= 3 && b.startsWith(a));
}

function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(substituted, previous[j]! + 1, row[j - 1]! + 1));
    }
    previous = row;
  }
  return previous[b.length]!;
}
