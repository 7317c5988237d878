import type { Catalog, Json } from "../../internal.ts";

type CatalogModel = ReturnType<Catalog["models"]>[number];
type JsonSchema = CatalogModel["inputSchema"];
export type Input = Readonly<Record<string, Json>>;

/** What a model is to be given. */
export interface Wish {
  /** Fields that it must take, with these values. */
  readonly needs: Input;
  /** Fields that another value may stand in for, or that may be left out. */
  readonly likes: Input;
}

/** How many inputs are tried for one model. */
const MOST_TRIED = 1000;

/**
 * An input that the model takes by its own schema, table and rules, as near to the wish as it allows; null when there is none. The
 * first of what is liked is given up last.
 */
export function fitInput(catalog: Catalog, model: CatalogModel, { needs, likes }: Wish): Input | null {
  const fields = propertiesOf(model.inputSchema);
  if (Object.keys(needs).some((name) => fields[name] === undefined)) return null;
  const { required = [] } = model.inputSchema;
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  const others = Object.keys(fields).filter((name) => !(name in needs) && (name in likes || isRequired(name)));
  const ranked = [
    ...Object.keys(likes).filter((name) => others.includes(name)),
    ...others.filter((name) => !(name in likes)),
  ];
  const options = ranked.map((name) => {
    const values = valuesOf(fields[name]!, likes[name]).map((value): Input => ({ [name]: value }));
    return isRequired(name) ? values : [...values, {}];
  });
  // A level that the service has a default for is named only where its table asks for it.
  if (fields.quality !== undefined && !ranked.includes("quality"))
    options.unshift([{}, ...valuesOf(fields.quality).map((quality): Input => ({ quality }))]);
  for (const chosen of products(options, MOST_TRIED)) {
    const input = { ...needs, ...chosen };
    if (catalog.check(model, input).length === 0) return input;
  }
  return null;
}

function propertiesOf({ properties }: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return typeof properties === "object" && properties !== null ? (properties as Record<string, JsonSchema>) : {};
}

/** Values of a field, those nearest to the one that is liked first: of numbers the next larger ones. */
function valuesOf(schema: JsonSchema, liked?: Json): readonly Json[] {
  const listed = Array.isArray(schema.enum) ? (schema.enum as readonly Json[]) : null;
  const own = [
    liked,
    schema.const as Json | undefined,
    schema.default as Json | undefined,
    schema.minimum as Json | undefined,
  ];
  if (listed === null) return own.filter((value) => value !== undefined);
  const far = (value: Json) => {
    if (value === liked) return -1;
    if (typeof value !== "number" || typeof liked !== "number") return 0;
    return value > liked ? value - liked : 1e9 - value;
  };
  return listed.toSorted((one, other) => far(one) - far(other));
}

/** One of each list, merged; the first of all lists first, the last list varied first. */
function* products(lists: readonly (readonly Input[])[], most: number): Generator<Input> {
  let left = most;
  function* from(at: number, sofar: Input): Generator<Input> {
    if (at === lists.length) {
      left -= 1;
      yield sofar;
      return;
    }
    for (const one of lists[at]!) {
      if (left > 0) yield* from(at + 1, { ...sofar, ...one });
    }
  }
  yield* from(0, {});
}
