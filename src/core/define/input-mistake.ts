import type { z } from "zod";
import { own } from "../kit/own.ts";
import { didYouMean } from "../kit/suggest.ts";
import { kindOfValue, shown, typeWords, valueText } from "../kit/value-words.ts";

export function fieldPath(root: string, keys: readonly PropertyKey[]): string {
  return keys.reduce<string>(
    (path, key) => (typeof key === "number" ? `${path}[${key}]` : `${path}.${String(key)}`),
    root,
  );
}

export function checkInput<S extends z.ZodType>(schema: S, input: unknown): z.ZodSafeParseResult<z.output<S>> {
  return schema.safeParse(input, { error: messageOf });
}

export function inputMistake({ path, message }: Pick<z.core.$ZodIssue, "path" | "message">) {
  return { field: fieldPath("input", path), message };
}

const JSON_TYPES: Readonly<Record<string, string>> = { int: "integer", record: "object", tuple: "array" };
const FORMATS: Readonly<Record<string, string>> = { url: "URL", email: "email address", uuid: "UUID" };

function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  const { input: value } = issue;
  const given = valueText(value);
  switch (issue.code) {
    case "invalid_type":
      if (value === undefined) return `is missing; give ${typeText(issue.expected)}`;
      return `must be ${typeText(issue.expected)}, not ${typeof value === "number" ? given : kindOfValue(value)}`;
    case "invalid_value":
      return notAccepted(issue.values, value);
    case "too_small":
      return outOfBounds(issue.inclusive === false ? "more than" : "at least", issue.minimum, issue);
    case "too_big":
      return outOfBounds(issue.inclusive === false ? "less than" : "at most", issue.maximum, issue);
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}, not ${given}`;
    case "invalid_format":
      if (issue.format === "starts_with") return `must start with ${shown(issue.prefix)}; got ${given}`;
      if (issue.format === "ends_with") return `must end with ${shown(issue.suffix)}; got ${given}`;
      if (issue.format === "includes") return `must contain ${shown(issue.includes)}; got ${given}`;
      if (issue.format === "regex") return `must match the pattern ${issue.pattern}; got ${given}`;
      return own(FORMATS, issue.format) && `${given} is not a valid ${FORMATS[issue.format]}`;
    case "unrecognized_keys":
      return `does not accept the field${issue.keys.length === 1 ? "" : "s"} ${issue.keys.map((key) => `"${key}"`).join(", ")}`;
    case "invalid_union": {
      const { options, discriminator } = issue;
      if (Array.isArray(options))
        return notAccepted(options, (value as Record<string, unknown>)[String(discriminator)]);
      return value === undefined ? "is missing" : `${given} is not a valid value`;
    }
    case "custom":
      return `${given} is not a valid value`;
    default:
      return undefined;
  }
}

function typeText(type: string): string {
  const name = own(JSON_TYPES, type) ?? type;
  const words = typeWords([name]);
  return words === name ? `a value of type ${name}` : words;
}

function notAccepted(values: readonly unknown[], value: unknown): string {
  const accepted = values.map(String);
  const list = accepted.length === 1 ? accepted[0] : `one of ${accepted.join(", ")}`;
  if (value === undefined) return `is missing; use ${list}`;
  if (accepted.length === 1) return `must be ${list}, not ${shown(value)}`;
  const hint = typeof value === "string" ? didYouMean(value, accepted) : null;
  return `${shown(value)} is not ${list}${hint === null ? "" : `; ${hint}`}`;
}

const UNITS: Readonly<Record<string, string>> = { string: "character", array: "item", set: "item", map: "entry" };

function outOfBounds(
  relation: string,
  limit: number | bigint,
  { input, origin, exact }: { readonly input?: unknown; readonly origin: string; readonly exact?: boolean | undefined },
): string {
  const bound = `${exact ? "exactly" : relation} ${limit}`;
  const unit = own(UNITS, origin);
  if (unit === undefined) return `must be ${bound}, not ${shown(input)}`;
  const { length, size = length } = input as { readonly length?: number; readonly size?: number };
  return `has ${size} ${unit}${size === 1 ? "" : "s"}; ${bound} are ${relation === "at most" ? "allowed" : "needed"}`;
}
