/** Whether a path is what the pattern says; `*` stands for any characters, `/` too. */
export function matchesPattern(pattern: string, path: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return pattern === path;
  if (!path.startsWith(first)) return false;
  let from = first.length;
  for (const [index, piece] of rest.entries()) {
    const isLast = index === rest.length - 1;
    const found = isLast ? path.length - piece.length : path.indexOf(piece, from);
    if (found < from || !path.startsWith(piece, found)) return false;
    from = found + piece.length;
  }
  return true;
}
