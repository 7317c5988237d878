/** The parts that a pattern names, or null when the path is another one. A segment may hold encoded slashes. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const requested = pattern.split("/");
  const given = path.split("/");
  if (requested.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, segment] of requested.entries()) {
    const part = decoded(given[index]!);
    if (part === null) return null;
    if (segment.startsWith(":")) params[segment.slice(1)] = part;
    else if (segment !== part) return null;
  }
  return params;
}

/** Null for what is no text that was encoded. */
export function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
