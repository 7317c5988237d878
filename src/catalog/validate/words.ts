/** A JSON pointer below the input as a dotted path: `/images/0/url` → `input.images[0].url`. */
export function fieldOf(instancePath: string): string {
  return instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : `${path}.${part}`), "input");
}

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

/** JSON types in words: `text or a list`. */
export function typeWords(types: readonly string[]): string {
  return [...new Set(types)].map((type) => TYPES[type] ?? type).join(" or ");
}

/** What a value is, in words: `text`, `a list`. */
export function kindOfValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number") return Number.isInteger(value) ? "a whole number" : "a number";
  return TYPES[typeof value] ?? typeof value;
}

/** A value as it is shown in a message; long ones are cut. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

const MAX_LISTED = 24;

/** A closed set of values as a list; long ones are cut. */
export function listed(values: readonly string[]): string {
  const more = values.length > MAX_LISTED ? ` … (${values.length} in all)` : "";
  return values.slice(0, MAX_LISTED).join(", ") + more;
}
