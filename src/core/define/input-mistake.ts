import { own } from "../kit/own.ts";
import { kindOfValue, shown, typeWords } from "../kit/value-words.ts";
import { didYouMean } from "../plan/suggest.ts";

/** Joins a root field and keys to a dotted path with list positions in brackets: `input.images[0]`. */
export function fieldPath(root: string, keys: readonly PropertyKey[]): string {
  return keys.reduce<string>(
    (path, key) => (typeof key === "number" ? `${path}[${key}]` : `${path}.${String(key)}`),
    root,
  );
}

/** The parts of an issue of zod that are read here; `values` and `options` list what the schema accepts. */
interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly values?: readonly unknown[];
  readonly options?: readonly unknown[];
}

/**
 * Describes what is wrong with an input, with the field as it is written in code. Zod's default messages are reworded;
 * a schema's custom messages stay unchanged.
 */
export function inputMistake(issue: Issue, input: unknown): { readonly field: string; readonly message: string } {
  const value = issue.path.reduce((at: unknown, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], input);
  return { field: fieldPath("input", issue.path), message: reworded(issue, value) };
}

const JSON_TYPES: Readonly<Record<string, string>> = { int: "integer", record: "object", tuple: "array" };
const BOUNDS: Readonly<Record<string, string>> = {
  ">=": "at least",
  "<=": "at most",
  ">": "more than",
  "<": "less than",
};

function reworded({ message, values, options }: Issue, value: unknown): string {
  const given = typeof value === "object" ? kindOfValue(value) : shown(value);
  const [, type] = /^Invalid input: expected (\w+), received \w+$/.exec(message) ?? [];
  if (type !== undefined && value === undefined) return `is missing; give ${typeText(type)}`;
  if (type !== undefined)
    return `must be ${typeText(type)}, not ${typeof value === "number" ? given : kindOfValue(value)}`;
  const accepted = values ?? options;
  if (accepted !== undefined && /^Invalid (?:input: expected|option: expected|discriminator value\.)/.test(message))
    return notAccepted(accepted.map(String), value, given);
  const [, verb, sign = "", limit, unit] =
    /^Too (?:small|big): expected \w+ to (be|have) (>=|<=|>|<|exactly )(\S+)(?: (\w+))?$/.exec(message) ?? [];
  if (verb === "be") return `must be ${own(BOUNDS, sign) ?? "exactly"} ${limit}, not ${given}`;
  if (verb === "have") {
    const { length, size = length } = value as { readonly length?: number; readonly size?: number };
    return `has ${size} ${unit}; ${own(BOUNDS, sign) ?? "exactly"} ${limit} are ${sign === "<=" ? "allowed" : "needed"}`;
  }
  const [, rule] = /^Invalid (?:string|number): (must .+)$/.exec(message) ?? [];
  if (rule !== undefined) return `${rule.replace("match pattern", "match the pattern")}, not ${given}`;
  const [, format] = /^Invalid (email address|URL|UUID(?:v\d)?|ISO \w+|IPv[46] \w+)$/.exec(message) ?? [];
  if (format !== undefined) return `${given} is not a valid ${format}`;
  const [, plural, keys] = /^Unrecognized key(s?): (.+)$/.exec(message) ?? [];
  if (keys !== undefined) return `does not accept the field${plural} ${keys}`;
  if (message !== "Invalid input") return message;
  return value === undefined ? "is missing" : `${given} is not a valid value`;
}

function typeText(type: string): string {
  const name = own(JSON_TYPES, type) ?? type;
  const words = typeWords([name]);
  return words === name ? `a value of type ${name}` : words;
}

function notAccepted(accepted: readonly string[], value: unknown, given: string): string {
  const list = accepted.length === 1 ? accepted[0] : `one of ${accepted.join(", ")}`;
  if (value === undefined) return `is missing; use ${list}`;
  if (accepted.length === 1) return `must be ${list}, not ${given}`;
  const hint = typeof value === "string" ? didYouMean(value, accepted) : null;
  return `${given} is not ${list}${hint === null ? "" : `; ${hint}`}`;
}
