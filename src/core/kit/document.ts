import { redactUrls } from "./clean-text.ts";
import { formatUsd } from "./money.ts";

/**
 * Converts a library object to a JSON document for programs. Names are in snake_case, amounts are in US dollars as
 * decimal strings, and times are in ISO 8601. Names inside data from users or the service stay unchanged. Queries are
 * removed from URLs, except in fields whose name ends in `url`.
 */
export function toDocument(value: unknown, key = ""): unknown {
  if (typeof value === "string") return /url$/i.test(key) ? value : redactUrls(value);
  if (typeof value === "number") return numberOf(value, key);
  if (Array.isArray(value)) return value.map((item) => toDocument(item, key));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      nameOf(name),
      foreign.has(name) ? withoutQueries(inner) : toDocument(inner, key.endsWith("Micros") ? key : name),
    ]),
  );
}

function numberOf(value: number, key: string): number | string {
  if (key.endsWith("Micros")) return formatUsd(value);
  return /(?:^since|At)$/.test(key) ? new Date(value).toISOString() : value;
}

function withoutQueries(value: unknown): unknown {
  if (typeof value === "string") return redactUrls(value);
  if (Array.isArray(value)) return value.map(withoutQueries);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutQueries(inner)]));
}

/** Fields with data from users or the service. Keys inside this data are not converted to snake_case. */
const foreign: ReadonlySet<string> = new Set([
  ...["input", "value", "newValue", "before", "after", "equals", "body", "schema", "tags"],
  ...["inputSchema", "outputSchema", "labels", "data", "raw"],
]);

const renamed = { runId: "run", holdMicros: "held", mostMicros: "max", forecastMs: "expected_ms" } as const;

function nameOf(name: string): string {
  if (Object.hasOwn(renamed, name)) return renamed[name as keyof typeof renamed];
  const bare = name.replace(/(?:Micros|Usd)$/, "").replace(/^is(?=[A-Z])/, "");
  return bare.replace(/[A-Z]/g, (letter, at) => `${at === 0 ? "" : "_"}${letter.toLowerCase()}`);
}

type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : "";

export type DocumentName<Key extends string> = Key extends keyof typeof renamed
  ? (typeof renamed)[Key]
  : Snake<Key extends `${infer Name}Micros` ? Name : Key>;
