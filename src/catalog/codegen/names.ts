import type { CatalogModel } from "../../plan/index.ts";

/**
 * A name for each model: `voice-clone-1` → `voiceClone`. Where two live models share the short name, all of them keep
 * their version, so that a new version never takes the place of another behind one's back.
 */
export function valueNames(models: readonly CatalogModel[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const model of models) {
    const family = models.filter((other) => other.state === "live" && short(other.id) === short(model.id));
    const isAlone = model.state === "live" && family.length === 1;
    const name = unique(isAlone ? short(model.id) : camel(model.id), taken);
    taken.add(name);
    names.set(model.id, name);
  }
  return names;
}

const short = (id: string) => camel(id.replace(/[-_.]v?\d+(?:[._]\d+)*$/, ""));

export function camel(id: string): string {
  const words = id.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const joined = words.map((word, index) => (index === 0 ? lowerFirst(word) : upperFirst(word))).join("");
  return joined === "" ? "model" : /^\d/.test(joined) ? `_${joined}` : joined;
}

export function pascal(id: string): string {
  return upperFirst(camel(id).replace(/^_/, "Model"));
}

/** A name that is not taken in any case, so that types and values do not differ by case alone. */
export function unique(name: string, taken: ReadonlySet<string>): string {
  const isTaken = (one: string) => [...taken].some((other) => other.toLowerCase() === one.toLowerCase());
  let candidate = name;
  for (let count = 2; isTaken(candidate); count++) candidate = `${name}_${count}`;
  return candidate;
}

const upperFirst = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
const lowerFirst = (word: string) => word.charAt(0).toLowerCase() + word.slice(1);
