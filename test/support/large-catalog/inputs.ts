import type { MediaOf, Value } from "./fields.ts";
import type { LargeModel } from "./index.ts";
import type { Row } from "./tables.ts";

export type Input = Readonly<Record<string, Value>>;

/** An input with these fields, each with a valid value. */
export function inputOf({ fields }: LargeModel, names: readonly string[], media: MediaOf): Input {
  return Object.fromEntries([...new Set(names)].map((name) => [name, fields.get(name)!.sample(media)]));
}

/** An input with only the required fields. */
export const requiredOnly = (model: LargeModel, media: MediaOf): Input => inputOf(model, model.required, media);

/** An input that a row of the model's table accepts. */
export function fulfilling(model: LargeModel, row: Row, media: MediaOf): Input {
  const values = Object.entries(row.accepts).map(([name, accepted]) => [name, accepted[0]!] as const);
  return { ...inputOf(model, [...model.required, ...row.requires], media), ...Object.fromEntries(values) };
}

/** True if an input fits a row; defaults of the schema are treated as given. */
export function fits({ fields }: LargeModel, { requires, omits, accepts }: Row, input: Input): boolean {
  const valueAt = (name: string) => input[name] ?? fields.get(name)?.schema["default"];
  return (
    requires.every((name) => valueAt(name) !== undefined) &&
    omits.every((name) => input[name] === undefined) &&
    Object.entries(accepts).every(([name, accepted]) => {
      const value = valueAt(name);
      return value === undefined || accepted.some((one) => one === value);
    })
  );
}

/** Distinct inputs that the schema accepts but no row of the table does. */
export function breaking(model: LargeModel, media: MediaOf): readonly Input[] {
  const found = new Map<string, Input>();
  for (const row of model.rows) {
    for (const input of altered(model, row, media)) {
      const key = JSON.stringify(Object.entries(input).sort());
      if (!model.rows.some((other) => fits(model, other, input))) found.set(key, input);
    }
  }
  return [...found.values()];
}

/** Changes an accepted input in one or two places: omits or adds a field, or uses another enumerated value. */
function* altered(model: LargeModel, row: Row, media: MediaOf): Generator<Input> {
  const right = fulfilling(model, row, media);
  const without = Object.keys(right).filter((name) => !model.required.includes(name));
  for (const name of without) {
    const { [name]: _, ...rest } = right;
    yield rest;
    for (const more of model.fields.keys()) yield { ...inputOf(model, [more], media), ...rest };
  }
  for (const [name, { schema }] of model.fields) {
    if (!(name in right)) yield { ...right, ...inputOf(model, [name], media) };
    for (const value of Array.isArray(schema["enum"]) ? (schema["enum"] as Value[]) : [])
      yield { ...right, [name]: value };
  }
}
