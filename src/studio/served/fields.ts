import { badRequest } from "./refusal.ts";

type Body = Readonly<Record<string, unknown>>;

export function textField(body: Body, name: string): string {
  const value = optionalText(body, name);
  if (value === undefined) throw badRequest(`${name} is missing.`, name);
  return value;
}

export function optionalText(body: Body, name: string, most = 10_000): string | undefined {
  const value = body[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string" || value.length > most)
    throw badRequest(`${name} must be a string of at most ${most} characters.`, name);
  return value;
}

export function optionalPosition(body: Body, name: string): number | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw badRequest(`${name} must be a whole number, 0 or greater.`, name);
  return value as number;
}

export function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw badRequest(`${name} must be a whole number, 0 or greater.`, name);
  return Number(text);
}

export function textList(body: Body, name: string): readonly string[] {
  const value = body[name] ?? [];
  if (!Array.isArray(value) || value.length > 10_000 || !value.every((item) => typeof item === "string")) {
    throw badRequest(`${name} must be a list of strings.`, name);
  }
  return value;
}
