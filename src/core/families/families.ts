import { z } from "zod";
import { ShowrunnerError } from "../kit/errors.ts";
import { readJsonFile } from "../kit/files.ts";
import { type ModelName, parseModelName, versionSimilarity } from "./model-name.ts";

/**
 * A model families file could not be read: it is missing, is not JSON, or does not have the form that
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
  const parsed = familyListSchema().safeParse(typeof given === "string" ? readJson(given) : given);
  if (!parsed.success)
    throw new FamiliesError(
      `${source} is not a list of model families as described in docs/model-families.md. Problems:${parsed.error.issues.map(line).join("")}`,
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
    const message = `is missing, and ${name} is not a built-in family; list the family's model ids, or use a built-in name: ${known}`;
    throw new FamiliesError(`${source} [${index}].models ${message}.`);
  }
}

export interface Families {
  readonly all: readonly Family[];
  of(modelId: string): Family | null;
}

function familiesWith(own: readonly FamilyInput[]): Families {
  const byName = new Map<string, Family>();
  for (const entry of [...BUILT_IN, ...own]) byName.set(entry.name, merged(byName.get(entry.name), entry));
  const all = [...byName.values()];
  let patterns: readonly Pattern[] | undefined;
  const known = new Map<string, Family | null>();
  return {
    all,
    of(modelId) {
      const found = known.get(modelId);
      if (found !== undefined) return found;
      const name = parseModelName(modelId);
      patterns ??= patternsOf(all);
      const family = patterns.findLast((pattern) => isWithin(name, pattern.name))?.family ?? null;
      known.set(modelId, family);
      return family;
    },
  };
}

interface Pattern {
  readonly family: Family;
  readonly name: ModelName;
}

/**
 * Returns the patterns of all families, the most specific last. If two are equally specific, the one of the later
 * family is last, so that families from a file override built-in ones.
 */
function patternsOf(families: readonly Family[]): readonly Pattern[] {
  const patterns = families.flatMap((family) => family.models.map((id) => ({ family, name: parseModelName(id) })));
  return patterns.sort((a, b) => partsOf(a.name) - partsOf(b.name));
}

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

// The API's description states these rules in prose for its example model, a Kling 3 model. The rules about quality
// tiers apply only to that version.
const ONE_PROMPT: FamilyRule = {
  kind: "one_of",
  fields: ["prompt", "multi_prompt"],
  message: "a video takes either a prompt or a list of shots; give one of the two, not both",
};

const SHOTS_FIT: FamilyRule = {
  kind: "max_sum",
  field: "multi_prompt",
  of: "duration_ms",
  max: 15_000,
  message: "shorten shots or remove one",
};

const END_NEEDS_START: FamilyRule = {
  kind: "requires",
  when: { field: "end_image" },
  fields: ["start_image"],
  message: "an end frame needs a start frame; add start_image or remove end_image",
};

const TIERS: readonly FamilyRule[] = [
  {
    kind: "requires",
    when: { field: "quality", is: ["pro"] },
    fields: ["resolution"],
    message: 'quality "pro" has no default resolution; set resolution to 1080p or 4K',
  },
  {
    kind: "values",
    when: { field: "quality", is: ["pro"] },
    field: "resolution",
    values: ["1080p", "4K"],
    message: 'quality "pro" supports only 1080p and 4K; use one of those, or quality "standard"',
  },
  {
    kind: "values",
    when: { field: "quality", is: ["standard"] },
    field: "resolution",
    values: ["720p"],
    message: 'quality "standard" supports only 720p; use 720p, or quality "pro"',
  },
];

/** Typical durations of jobs, used until real jobs have been measured. */
const TYPICAL_SECONDS: Readonly<Record<string, number>> = {
  veo: 90,
  "veo-fast": 60,
  sora: 120,
  "sora-pro": 300,
  hailuo: 150,
  seedance: 60,
  wan: 120,
  "nano-banana": 12,
  "nano-banana-pro": 30,
  "gpt-image": 40,
  flux: 8,
  "flux-schnell": 3,
  seedream: 15,
  imagen: 8,
};

const BUILT_IN: readonly FamilyInput[] = [
  ...Object.entries(TYPICAL_SECONDS).map(([name, seconds]) => ({ name, models: [name], typical_seconds: seconds })),
  { name: "kling", models: ["kling"], rules: [ONE_PROMPT, SHOTS_FIT, END_NEEDS_START], typical_seconds: 120 },
  {
    name: "kling-3",
    models: ["kling-3", "kling-30"],
    rules: [...TIERS, ONE_PROMPT, SHOTS_FIT, END_NEEDS_START],
    typical_seconds: 150,
  },
];

export const builtInFamilies: Families = familiesWith([]);

/** A note in every message about a family rule, so that the rule is not mistaken for one of the service's own. */
export const OURS = "a rule known to Showrunner but not stated in the service's schema";

/** Builds the schema of a list of families on demand, because few programs have families of their own. */
function familyListSchema() {
  const field = z.string().min(1);
  const scalar = z.union([z.string(), z.number(), z.boolean()]);
  const fields = (least: number) => z.array(field).min(least);

  /** A condition that holds if the field is set or, with `is`, if its value or schema default is in the list. */
  const condition = z.strictObject({ field, is: z.array(scalar).min(1).optional() });

  const common = {
    /** When the rule applies. Default: always. */
    when: condition.optional(),
    /** Why the rule exists, and what to do. Messages show this text after the field's name and what is wrong with it. */
    message: z.string().min(1),
  };

  const rule = z.discriminatedUnion("kind", [
    /** All of the fields are required. */
    z.strictObject({ kind: z.literal("requires"), fields: fields(1), ...common }),
    /** None of the fields is allowed. */
    z.strictObject({ kind: z.literal("forbids"), fields: fields(1), ...common }),
    /** Exactly one of the fields must be given. */
    z.strictObject({ kind: z.literal("one_of"), fields: fields(2), ...common }),
    /** If the field has a value, it must be one of `values`, ignoring case. */
    z.strictObject({ kind: z.literal("values"), field, values: z.array(scalar).min(1), ...common }),
    /**
     * The sum of the property `of` over all items of the list `field` must not exceed `max`. If an item lacks the
     * property, the schema's default is used.
     */
    z.strictObject({ kind: z.literal("max_sum"), field, of: field, max: z.number(), ...common }),
  ]);

  const price = z.strictObject({
    when: condition.optional(),
    /** Price in US dollars. */
    usd: z.number().min(0),
    per: z.enum(["job", "second", "image", "1000_characters"]),
  });

  const modelName = z.string().refine((name) => parseModelName(name).family.length > 0, {
    error: 'names no family; write it like a model id, such as "kling-3" for every kling 3',
  });

  const family = z.strictObject({
    name: z.string().min(1),
    /** Names of models that the family covers: `kling-3` covers every tier and mode of Kling 3, `kling` every version. */
    models: z.array(modelName).min(1).optional(),
    rules: z.array(rule).optional(),
    /** Prices for services that do not quote any. The first price that applies is used. */
    prices: z.array(price).optional(),
    /** Typical duration of a job. Used until real runs have been measured. */
    typical_seconds: z.number().positive().optional(),
  });

  return z.array(family);
}

type FamilyList = ReturnType<typeof familyListSchema>;
type ReadFamily = z.output<FamilyList>[number];

/** A family as written in a file or an option. Fields that are omitted keep their built-in values. */
export type FamilyInput = z.input<FamilyList>[number];
export type FamilyRule = NonNullable<ReadFamily["rules"]>[number];
export type FamilyPrice = NonNullable<ReadFamily["prices"]>[number];
export type FamilyCondition = NonNullable<FamilyRule["when"]>;

/** What Showrunner knows about a family of models beyond what the service publishes. */
export interface Family {
  readonly name: string;
  readonly models: readonly string[];
  readonly rules: readonly FamilyRule[];
  /**
   * True if the rules are built in. Built-in rules other than `max_sum` are ignored if the model's schema has a
   * combination table.
   */
  readonly areRulesBuiltIn: boolean;
  readonly prices: readonly FamilyPrice[];
  /** Typical duration of a job; null if unknown. */
  readonly typicalMs: number | null;
}
