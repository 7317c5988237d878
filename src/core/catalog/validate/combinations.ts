import { BY_DEFAULT } from "../../plan/catalog-port.ts";
import type { CatalogModel, FieldProblem, JsonSchema } from "../../plan/index.ts";
import type { Json } from "../../plan/plan.ts";
import { type Combination, combinationTable } from "../combination-table.ts";
import { includes, presetOf, ruleFieldsOf } from "./family-rules.ts";
import { shown } from "./sentence.ts";

/** What is not certain of an input. */
export interface Uncertain {
  /** Fields that are given, with a value that is not known yet. */
  readonly pending: readonly string[];
  /** Fields that are wrong for another reason, and may become anything. */
  readonly free: ReadonlySet<string>;
}

/** Rows that a message lists at most. */
const NEAREST = 3;

/**
 * Whether an input fulfils one row of its model's table; nothing for a model without a table. A field that the schema
 * presets counts as given with that value, and need not be left out. Where a row would hold if it did not count, the code
 * is {@link BY_DEFAULT}, else `combination-table`.
 */
export function combinationProblems(
  { id, inputSchema }: Pick<CatalogModel, "id" | "inputSchema">,
  input: Json,
  uncertain: Uncertain,
): readonly FieldProblem[] {
  const table = combinationTable(inputSchema);
  if (table === null || !table.isWhole || table.rows.length === 0) return [];
  if (typeof input !== "object" || input === null || Array.isArray(input)) return [];
  const given = new Given(inputSchema, input as Fields, uncertain);
  const missed = table.rows.map((row) => ({ row, misses: given.missesOf(row) }));
  if (missed.some(({ misses }) => misses.length === 0)) return [];
  const nearest = missed.sort((a, b) => a.misses.length - b.misses.length).slice(0, NEAREST);
  // What the author wrote is reported before what he left out.
  const first = nearest[0]!.misses.find(({ isGiven }) => isGiven) ?? nearest[0]!.misses[0]!;
  const rows = nearest.map(({ row, misses }) => `${numberOf(row)} ${misses.map(({ what }) => what).join(" and ")}`);
  const count = table.rows.length === 1 ? "the one combination" : `any of the ${table.rows.length} combinations`;
  const bare = new Given(inputSchema, input as Fields, uncertain, () => undefined);
  const isByDefault = table.rows.some((row) => bare.missesOf(row).length === 0);
  return [
    {
      code: isByDefault ? BY_DEFAULT : "combination-table",
      field: `input.${first.name}`,
      message: `the fields are not ${count} that ${id} accepts; nearest: ${rows.join("; ")}`,
      ...(first.allowed !== undefined && { allowed: first.allowed }),
    },
  ];
}

const numberOf = ({ text }: Combination) => text.slice(0, text.indexOf(")") + 1);

type Fields = { readonly [name: string]: Json };

/** One thing that keeps a row from holding. */
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
        this.#isFree(name) || !this.#isGiven(name) ? [] : [{ name, what: `goes without ${name}`, isGiven: true }],
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
    return [{ name, what: `takes ${name} ${allowed.join(" or ")}, not ${now}`, isGiven, allowed }];
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
