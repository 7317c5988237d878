/** Header lookup over the shapes that servers hand out: Fetch Headers, or a record as node has it. */
export type HeaderSource = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Headers with lower-case names and one value each. */
export function readHeaders(source: HeaderSource): ReadonlyMap<string, string> {
  const entries = source instanceof Headers ? [...source.entries()] : Object.entries(source);
  const read = new Map<string, string>();
  for (const [name, value] of entries) {
    const one = Array.isArray(value) ? value[0] : value;
    if (typeof one === "string") read.set(name.toLowerCase(), one.trim());
  }
  return read;
}

/**
 * The brand in `x-<brand><ending>`, in lower case: the one given, or the only one found. Null when there is none, or
 * more than one, since then nobody can say which signature counts.
 */
export function findBrand(headers: ReadonlyMap<string, string>, ending: string, given: string | null): string | null {
  if (given !== null) return headers.has(`x-${given.toLowerCase()}${ending}`) ? given.toLowerCase() : null;
  const found = [...headers.keys()].filter(
    (name) => name.startsWith("x-") && name.endsWith(ending) && name.length > ending.length + 2,
  );
  return found.length === 1 ? found[0]!.slice(2, -ending.length) : null;
}
