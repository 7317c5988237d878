import type { CatalogModel } from "../../plan/index.ts";

/**
 * A name for each model, by its id alone: `voice-clone-1` → `voiceClone`, `elevenlabs-v3` → `elevenlabsV3`, `wan-2-7` →
 * `wan27`. Only the version of a first one is left out. Models whose names would be the same all get longer ones, so that
 * a new model never takes the name of another behind one's back. No two names differ by case alone.
 */
export function valueNames(models: readonly Pick<CatalogModel, "id">[]): ReadonlyMap<string, string> {
  const ids = models.map(({ id }) => id);
  const isAloneIn = (names: readonly string[]) => {
    const counts = new Map<string, number>();
    for (const name of names) counts.set(name.toLowerCase(), (counts.get(name.toLowerCase()) ?? 0) + 1);
    return (name: string) => counts.get(name.toLowerCase()) === 1;
  };
  const isAlone = isAloneIn(ids.map(short));
  const clashing = ids.filter((id) => !isAlone(short(id)));
  // A longer name may not be the short one of any model either, or it would be mistaken for it.
  const isAloneThen = isAloneIn([...clashing.map(underscored), ...new Set(ids.map((id) => short(id).toLowerCase()))]);
  return new Map(
    ids.map((id) => {
      if (isAlone(short(id))) return [id, short(id)];
      return [id, isAloneThen(underscored(id)) ? underscored(id) : spelled(id)];
    }),
  );
}

function short(id: string): string {
  return camel(/^[a-z]+(?:[-_.][a-z]+)*[-_.]1$/i.test(id) ? id.slice(0, -2) : id);
}

/** `wan-2-7` → `wan_2_7`. */
function underscored(id: string): string {
  return identifier(id.replace(/[^A-Za-z0-9]+/g, "_"));
}

/** Every character but lower-case letters and digits by its code: no two ids are spelled alike. */
function spelled(id: string): string {
  return identifier(id.replace(/[^a-z0-9]/gu, (character) => `$${character.codePointAt(0)!.toString(16)}$`));
}

export function camel(id: string): string {
  const words = id.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const joined = words.map((word, index) => (index === 0 ? lowerFirst(word) : upperFirst(word))).join("");
  return joined === "" ? "model" : identifier(joined);
}

function identifier(name: string): string {
  return /^\d/.test(name) ? `_${name}` : name;
}

export function pascal(id: string): string {
  return upperFirst(camel(id).replace(/^_/, "Model"));
}

/** A name that is not taken in any case, so that types and values do not differ by case alone. */
export function unique(name: string, taken: ReadonlySet<string>): string {
  const isTaken = (wanted: string) => [...taken].some((other) => other.toLowerCase() === wanted.toLowerCase());
  let candidate = name;
  for (let count = 2; isTaken(candidate); count++) candidate = `${name}_${count}`;
  return candidate;
}

const upperFirst = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
const lowerFirst = (word: string) => word.charAt(0).toLowerCase() + word.slice(1);
