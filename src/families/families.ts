import { BUILT_IN } from "./built-in.ts";
import type { Family, FamilyInput } from "./family.ts";
import { type ModelName, parseModelName } from "./model-name.ts";

/** The families that are known; each model is of one at most. */
export interface Families {
  readonly all: readonly Family[];
  /** By the model's id; null for a model of no family. */
  of(modelId: string): Family | null;
}

/** The built-in families with these over them: what an entry leaves out stays as it is built in. */
export function familiesWith(own: readonly FamilyInput[]): Families {
  const byName = new Map<string, Family>();
  for (const entry of [...BUILT_IN, ...own]) byName.set(entry.name, merged(byName.get(entry.name), entry));
  const all = [...byName.values()];
  const patterns = all.flatMap((family) => family.models.map((model) => ({ family, name: parseModelName(model) })));
  // The one that says most decides; of several, the last, which may be from a file.
  patterns.sort((a, b) => partsOf(a.name) - partsOf(b.name));
  const known = new Map<string, Family | null>();
  return {
    all,
    of(modelId) {
      const found = known.get(modelId);
      if (found !== undefined) return found;
      const name = parseModelName(modelId);
      const family = patterns.findLast((pattern) => isWithin(name, pattern.name))?.family ?? null;
      known.set(modelId, family);
      return family;
    },
  };
}

export const builtInFamilies: Families = familiesWith([]);

function merged(before: Family | undefined, entry: FamilyInput): Family {
  const seconds = entry.typical_seconds;
  return {
    name: entry.name,
    models: entry.models ?? before?.models ?? [],
    rules: entry.rules ?? before?.rules ?? [],
    prices: entry.prices ?? before?.prices ?? [],
    typicalMs: seconds === undefined ? (before?.typicalMs ?? null) : seconds * 1000,
  };
}

function isWithin(name: ModelName, pattern: ModelName): boolean {
  return (
    name.family.join() === pattern.family.join() &&
    (pattern.version === null || pattern.version === name.version) &&
    (pattern.mode === null || pattern.mode === name.mode) &&
    pattern.tiers.every((tier) => name.tiers.includes(tier))
  );
}

function partsOf({ version, mode, tiers }: ModelName): number {
  return Number(version !== null) + Number(mode !== null) + tiers.length;
}
