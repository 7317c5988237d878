import { TOKEN } from "./locate.ts";

export interface RepeatedKey {
  readonly key: string;
  /** Where it stands again. */
  readonly offset: number;
}

/** Problems of one document that are told; whoever repeats himself more than this knows. */
const MOST = 100;

/** Keys that stand twice in one object of a valid JSON text; a parser keeps only the last. */
export function repeatedKeys(text: string): readonly RepeatedKey[] {
  const found: RepeatedKey[] = [];
  const open: (Set<string> | null)[] = [];
  let isKeyNext = false;
  for (const match of text.matchAll(TOKEN)) {
    const [token] = match;
    const keys = open.at(-1);
    if (token === "{" || token === "[") {
      open.push(token === "{" ? new Set() : null);
      isKeyNext = token === "{";
    } else if (token === "}" || token === "]") {
      open.pop();
      isKeyNext = false;
    } else if (token === ",") isKeyNext = keys instanceof Set;
    else if (token === ":") isKeyNext = false;
    else if (isKeyNext && keys instanceof Set) {
      const key = token.includes("\\") ? (JSON.parse(token) as string) : token.slice(1, -1);
      if (keys.has(key) && found.length < MOST) found.push({ key, offset: match.index });
      keys.add(key);
    }
  }
  return found;
}
