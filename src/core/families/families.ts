import type { z } from "zod";
import { ShowrunnerError } from "../kit/errors.ts";
import { readJsonFile } from "../kit/file-handle.ts";
import { BUILT_IN, type Family, type FamilyInput, familyList } from "./built-in.ts";
import { type ModelName, parseModelName, versionSimilarity } from "./model-name.ts";

/**
 * A file of model families could not be read: it is missing, is not JSON, or does not have the form that
 * docs/model-families.md describes.
 */
export class FamiliesError extends ShowrunnerError {
  readonly code = "FAMILIES_INVALID";
}

/** Families that override the built-in ones: the path of a JSON file, or a list. */
export type FamiliesOption = string | readonly FamilyInput[];

/** Reads families from a file or list and merges them into the built-in ones. @throws FamiliesError */
export function readFamilies(given: FamiliesOption | undefined): Families {
  if (given === undefined) return builtInFamilies;
  const source = typeof given === "string" ? given : "families";
  const parsed = familyList.safeParse(typeof given === "string" ? readJson(given) : given);
  if (!parsed.success)
    throw new FamiliesError(
      `${source} is not a list of model families as described in docs/model-families.md; fix:${parsed.error.issues.map(line).join("")}`,
    );
  assertNamed(parsed.data, source);
  return familiesWith(parsed.data);
}

function readJson(path: string): unknown {
  try {
    return readJsonFile(path);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `The model families in ${path} cannot be read (${why}); use a JSON file as described in docs/model-families.md.`;
    throw new FamiliesError(message, { cause });
  }
}

function line({ path, message }: z.core.$ZodIssue): string {
  const at = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
  return `\n  ${at === "" ? "(the list)" : at}: ${message}`;
}

function assertNamed(entries: readonly FamilyInput[], source: string): void {
  const names = entries.map(({ name }) => name);
  for (const [index, { name, models }] of entries.entries()) {
    if (names.indexOf(name) !== index) {
      throw new FamiliesError(`${source} [${index}].name: the name ${name} occurs twice; merge the two entries.`);
    }
    if (models !== undefined || BUILT_IN.some((family) => family.name === name)) continue;
    const known = BUILT_IN.map((family) => family.name).join(", ");
    const message = `is missing, and ${name} is not a built-in family; list its model ids, or use one of ${known}`;
    throw new FamiliesError(`${source} [${index}].models ${message}.`);
  }
}

export interface Families {
  readonly all: readonly Family[];
  of(modelId: string): Family | null;
}

export function familiesWith(own: readonly FamilyInput[]): Families {
  const byName = new Map<string, Family>();
  for (const entry of [...BUILT_IN, ...own]) byName.set(entry.name, merged(byName.get(entry.name), entry));
  const all = [...byName.values()];
  const patterns = all.flatMap((family) => family.models.map((model) => ({ family, name: parseModelName(model) })));
  // The most specific pattern wins. Among equals, the last pattern wins, which may come from a file.
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
    areRulesBuiltIn: entry.rules === undefined ? (before?.areRulesBuiltIn ?? true) : BUILT_IN.includes(entry),
    prices: entry.prices ?? before?.prices ?? [],
    typicalMs: seconds === undefined ? (before?.typicalMs ?? null) : seconds * 1000,
  };
}

function isWithin(name: ModelName, pattern: ModelName): boolean {
  return (
    name.family.join() === pattern.family.join() &&
    (pattern.version.length === 0 || versionSimilarity(pattern, name) > 0) &&
    (pattern.mode === null || pattern.mode === name.mode) &&
    pattern.tiers.every((tier) => name.tiers.includes(tier))
  );
}

function partsOf({ version, mode, tiers }: ModelName): number {
  return Number(version.length > 0) + Number(mode !== null) + tiers.length;
}
