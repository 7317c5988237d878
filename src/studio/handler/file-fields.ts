import { z } from "zod";
import { own } from "../../core/kit/lookup.ts";

interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema | boolean;
  readonly prefixItems?: readonly Schema[];
  readonly showrunnerFile?: string;
}

/** Maximum nesting depth that is searched for files. */
const MOST_LEVELS = 40;

export function inputSchema(input: z.ZodType): { readonly [keyword: string]: unknown } {
  return z.toJSONSchema(input, { io: "input", unrepresentable: "any" });
}

/** The schema determines which values are files. */
export async function withFiles(
  schema: { readonly [keyword: string]: unknown },
  value: unknown,
  replace: (value: unknown, field: string) => Promise<unknown>,
): Promise<unknown> {
  const root = schema as Schema;
  const map = async (given: unknown, nodes: readonly Schema[], field: string, level: number): Promise<unknown> => {
    const whole = expanded(root, nodes);
    if (given === undefined || level > MOST_LEVELS) return given;
    if (whole.some(({ showrunnerFile }) => showrunnerFile !== undefined)) return replace(given, field);
    if (Array.isArray(given)) {
      const items = given.map((item, index) => map(item, itemSchemas(whole, index), `${field}[${index}]`, level + 1));
      return Promise.all(items);
    }
    if (typeof given !== "object" || given === null) return given;
    const entries = Object.entries(given).map(async ([name, item]) => {
      const at = field === "" ? name : `${field}.${name}`;
      return [name, await map(item, fieldSchemas(whole, name), at, level + 1)] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  };
  return map(value, [root], "", 0);
}

function expanded(root: Schema, nodes: readonly Schema[]): readonly Schema[] {
  const all = new Set(nodes);
  // Iterating over a set also visits nodes that the loop adds.
  for (const node of all) {
    const { $ref, anyOf = [], oneOf = [], allOf = [] } = node;
    const named = $ref?.startsWith("#/$defs/") ? own(root.$defs ?? {}, $ref.slice("#/$defs/".length)) : undefined;
    const others = [
      ...(named === undefined ? [] : [named]),
      ...($ref === "#" ? [root] : []),
      ...anyOf,
      ...oneOf,
      ...allOf,
    ];
    for (const other of others) all.add(other);
  }
  return [...all];
}

function itemSchemas(nodes: readonly Schema[], index: number): readonly Schema[] {
  return nodes.flatMap(({ items, prefixItems }) => prefixItems?.[index] ?? (typeof items === "object" ? items : []));
}

function fieldSchemas(nodes: readonly Schema[], name: string): readonly Schema[] {
  return nodes.flatMap(({ properties = {}, additionalProperties }) => {
    return own(properties, name) ?? (typeof additionalProperties === "object" ? additionalProperties : []);
  });
}
