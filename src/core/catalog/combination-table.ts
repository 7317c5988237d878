import type { Family, FamilyRule } from "../families/index.ts";
import { shown } from "../kit/value-text.ts";
import { BY_DEFAULT } from "../plan/catalog-port.ts";
import type { CatalogModel, FieldProblem, JsonSchema } from "../plan/index.ts";
import type { Json } from "../plan/plan.ts";
import { isSchema } from "../plan/schema.ts";
import { includes, presetOf, ruleFieldsOf } from "./validate/family-rules.ts";

export interface Combination {
  readonly requires: readonly string[];
  readonly omits: readonly string[];
  readonly accepts: ReadonlyMap<string, readonly string[]>;
  readonly text: string;
}

/** A model's published table of accepted field combinations. An input must match at least one row. */
export interface CombinationTable {
  readonly rows: readonly Combination[];
  readonly unread: readonly string[];
  /** False if a row could not be read. The table then rejects no input. */
  readonly isWhole: boolean;
}

const HEADING = /Accepted field combinations(?: \([^()]*\))?:$/;

const MAX_ROWS = 500;

const known = new WeakMap<JsonSchema, CombinationTable | null>();

export function combinationTable(schema: JsonSchema): CombinationTable | null {
  const found = known.get(schema);
  if (found !== undefined) return found;
  const read = typeof schema.description === "string" ? readTable(schema.description) : null;
  known.set(schema, read);
  return read;
}

function readTable(description: string): CombinationTable | null {
  const lines = description.split("\n").map((line) => line.trim());
  const heading = lines.findIndex((line) => HEADING.test(line));
  if (heading < 0) return null;
  const after = lines.slice(heading + 1);
  const end = after.indexOf("");
  const listed = end < 0 ? after : after.slice(0, end);
  const rows = listed.slice(0, MAX_ROWS).flatMap((line) => readRow(line) ?? []);
  const unread = listed.filter((line, index) => index >= MAX_ROWS || readRow(line) === null);
  return { rows, unread, isWhole: !unread.some((line) => /^\(\d+\)/.test(line)) };
}

/**
 * Returns the family rules that apply to a model. A combination table in the model's schema replaces the built-in rules
 * except `max_sum`.
 */
export function applicableRules(schema: JsonSchema, family: Family | null): readonly FamilyRule[] {
  const { rules = [], areRulesBuiltIn = false } = family ?? {};
  const isTabled = areRulesBuiltIn && combinationTable(schema) !== null;
  return isTabled ? rules.filter(({ kind }) => kind === "max_sum") : rules;
}

const ROW = /^\(\d+\) *requires:([^;]*)(?:; *must omit:([^;]*))?(?:; *accepts (.*))?$/;
const NAME = /^\w[\w.-]*$/;

function readRow(text: string): Combination | null {
  const [, required, omitted, accepted] = ROW.exec(text) ?? [];
  const requires = required === undefined ? null : split(required, ",");
  const omits = omitted === undefined ? [] : split(omitted, ",");
  const accepts = accepted === undefined ? new Map<string, readonly string[]>() : readValues(accepted);
  if (requires === null || omits === null || accepts === null) return null;
  return [...requires, ...omits].every((name) => NAME.test(name)) ? { requires, omits, accepts, text } : null;
}

function readValues(text: string): Combination["accepts"] | null {
  const accepts = new Map<string, readonly string[]>();
  for (const part of text.split(";")) {
    const colon = part.indexOf(":");
    const name = part.slice(0, Math.max(0, colon)).trim();
    const values = split(part.slice(colon + 1), "|");
    if (!NAME.test(name) || accepts.has(name) || values === null) return null;
    accepts.set(name, values);
  }
  return accepts;
}

function split(text: string, by: string): readonly string[] | null {
  const parts = text.split(by).map((part) => part.trim());
  return parts.includes("") ? null : parts;
}

interface Uncertain {
  readonly pending: readonly string[];
  readonly free: ReadonlySet<string>;
}

const NEAREST = 3;

/**
 * Returns a problem if the input matches no row of the model's combination table. The problem's code is {@link
 * BY_DEFAULT} if the input would match without default values.
 */
export function combinationProblems(
  { id, inputSchema }: Pick<CatalogModel, "id" | "inputSchema">,
  input: Json,
  uncertain: Uncertain,
): readonly FieldProblem[] {
  const missed = missedRows(inputSchema, input, uncertain);
  if (missed.length === 0) return [];
  const nearest = missed.slice(0, NEAREST);
  // Report a wrong field before a missing one.
  const first = nearest[0]!.misses.find(({ isGiven }) => isGiven) ?? nearest[0]!.misses[0]!;
  const rows = nearest.map(({ row, misses }) => `${numberOf(row)} ${misses.map(({ what }) => what).join(" and ")}`);
  const combinations = missed.length > 1 ? `any of the ${missed.length} combinations` : "the combination";
  const bare = new Given(inputSchema, input as Fields, uncertain, () => undefined);
  const isByDefault = missed.some(({ row }) => bare.missesOf(row).length === 0);
  return [
    {
      code: isByDefault ? BY_DEFAULT : "combination-table",
      field: `input.${first.name}`,
      message: `the fields do not match ${combinations} that ${id} accepts; nearest: ${rows.join("; ")}`,
      ...(first.allowed !== undefined && { allowed: first.allowed }),
    },
  ];
}

interface MissedRow {
  readonly row: Combination;
  readonly misses: readonly Miss[];
}

/** Returns how the input differs from each row of the combination table, closest row first. Empty if a row matches. */
export function missedRows(
  schema: JsonSchema,
  input: unknown,
  uncertain: Uncertain = { pending: [], free: new Set() },
): readonly MissedRow[] {
  const table = combinationTable(schema);
  if (table === null || !table.isWhole || !isSchema(input)) return [];
  const given = new Given(schema, input as Fields, uncertain);
  const missed = table.rows.map((row) => ({ row, misses: given.missesOf(row) }));
  if (missed.some(({ misses }) => misses.length === 0)) return [];
  return missed.sort((a, b) => a.misses.length - b.misses.length);
}

const numberOf = ({ text }: Combination) => text.slice(0, text.indexOf(")") + 1);

type Fields = { readonly [name: string]: Json };

interface Miss {
  readonly name: string;
  readonly what: string;
  readonly isGiven: boolean;
  readonly allowed?: readonly string[];
}

class Given {
  readonly #input: Fields;
  readonly #uncertain: Uncertain;
  readonly #preset: (name: string) => unknown;

  constructor(schema: JsonSchema, input: Fields, uncertain: Uncertain, preset?: (name: string) => unknown) {
    const fields = ruleFieldsOf(schema);
    this.#input = input;
    this.#uncertain = uncertain;
    this.#preset = preset ?? ((name) => presetOf(fields.of(name)));
  }

  missesOf({ requires, omits, accepts }: Combination): readonly Miss[] {
    return [
      ...requires.flatMap((name): Miss[] =>
        this.#isFree(name) || this.#valueOf(name) !== undefined
          ? []
          : [{ name, what: `needs ${name}`, isGiven: false }],
      ),
      ...omits.flatMap((name): Miss[] =>
        this.#isFree(name) || !this.#isGiven(name) ? [] : [{ name, what: `does not allow ${name}`, isGiven: true }],
      ),
      ...[...accepts].flatMap(([name, allowed]) => this.#wrongValue(name, allowed)),
    ];
  }

  #wrongValue(name: string, allowed: readonly string[]): readonly Miss[] {
    const value = this.#valueOf(name);
    const isOpen = this.#isFree(name) || this.#uncertain.pending.includes(name);
    if (isOpen || value === undefined || includes(allowed, String(value))) return [];
    const isGiven = this.#isGiven(name);
    const now = `${shown(value)}${isGiven ? "" : ", its default"}`;
    return [{ name, what: `needs ${name} ${allowed.join(" or ")}, not ${now}`, isGiven, allowed }];
  }

  #isFree(name: string): boolean {
    return this.#uncertain.free.has(name);
  }

  #isGiven(name: string): boolean {
    return Object.hasOwn(this.#input, name) && this.#input[name] !== null;
  }

  #valueOf(name: string): unknown {
    return this.#isGiven(name) ? this.#input[name] : this.#preset(name);
  }
}
