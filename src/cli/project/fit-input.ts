import type { Catalog, Json } from "../../internal.ts";

type CatalogModel = ReturnType<Catalog["models"]>[number];
type JsonSchema = CatalogModel["inputSchema"];
export type Input = Readonly<Record<string, Json>>;

/** What a model is to be given. */
export interface Wish {
  /** Fields that it must take, with these values. */
  readonly needs: Input;
  /** Fields that may get the nearest value that the model lists, or be left out. */
  readonly likes: Input;
}

/**
 * A valid input of the model: what is needed, each required field, and what is liked; without what is liked where the model refuses
 * that. Null if the model takes neither.
 */
export function fitInput(catalog: Catalog, model: CatalogModel, { needs, likes }: Wish): Input | null {
  const fields = propertiesOf(model.inputSchema);
  if (Object.keys(needs).some((name) => fields[name] === undefined)) return null;
  const { required } = model.inputSchema;
  const requiredNames = Array.isArray(required) ? (required as readonly string[]) : [];
  const input = (liked: Input): Input => {
    const names = [...Object.keys(liked), ...requiredNames].filter((name) => fields[name] !== undefined);
    const values = names.flatMap((name) => {
      const value = name in needs ? undefined : fieldValue(fields[name]!, liked[name]);
      return value === undefined ? [] : [[name, value] as const];
    });
    return { ...needs, ...Object.fromEntries(values) };
  };
  return [input(likes), input({})].find((each) => catalog.check(model, each).length === 0) ?? null;
}

function propertiesOf({ properties }: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return typeof properties === "object" && properties !== null ? (properties as Record<string, JsonSchema>) : {};
}

/** The liked value, or the next larger number that is listed; else the field's own first choice. */
function fieldValue(schema: JsonSchema, liked: Json | undefined): Json | undefined {
  const own = (schema.const ?? schema.default) as Json | undefined;
  if (!Array.isArray(schema.enum)) return liked ?? own ?? (schema.minimum as Json | undefined);
  const listed = schema.enum as readonly Json[];
  if (liked !== undefined && listed.includes(liked)) return liked;
  const larger = listed.filter((value) => typeof value === "number" && typeof liked === "number" && value > liked);
  return larger.length > 0 ? Math.min(...(larger as number[])) : (own ?? listed[0]);
}
