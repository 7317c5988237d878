import type { IncomingHttpHeaders } from "node:http";
import { redactUrls } from "../clean-text.ts";
import { BEGINNING, type SecretForm } from "./secret-search.ts";

/** Takes the client's own credential out of what others say, before anything else reads it. */
export interface Redactor {
  text(said: string): string;
  /** The value of a JSON text without the credential in any name or string; undefined where it is no JSON. */
  json(said: string): unknown;
  headers(said: IncomingHttpHeaders): IncomingHttpHeaders;
}

export const REMOVED = "[redacted]";
/** A shorter secret protects nothing, and would be found in any text. */
const SHORTEST_SECRET = BEGINNING;
/** Nothing that is meant to be read lies deeper. */
const MOST_DEPTH = 500;

/** The credential whole and its secret alone: as they are, escaped for JSON, in percent, in Base64 and in hex. */
export function formsOf(apiKey: string): readonly SecretForm[] {
  const secret = apiKey.slice(apiKey.indexOf(":") + 1);
  return [...new Set([apiKey, secret])].filter((text) => text.length >= SHORTEST_SECRET).flatMap(formsOfText);
}

export function createRedactor(apiKey: string): Redactor {
  const forms = formsOf(apiKey).map(({ source }) => source);
  if (forms.length === 0) forms.push("(?!)");
  const pattern = new RegExp(forms.join("|"), "gi");
  const text = (said: string) => (said.length < SHORTEST_SECRET ? said : said.replace(pattern, REMOVED));
  return {
    text,
    json(said) {
      const value = parseJson(said);
      // An escape may hide a letter from the search; everything else is found in the text as it came.
      return said.includes("\\") || said.search(pattern) >= 0 ? withTexts(value, text) : value;
    },
    headers: (said) => withTexts(said, text) as IncomingHttpHeaders,
  };
}

/** The value of a JSON text, or undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function withTexts(value: unknown, change: (text: string) => string, depth = MOST_DEPTH): unknown {
  if (typeof value === "string") return change(value);
  if (value instanceof Error) return change(`${value.name}: ${value.message}`);
  if (typeof value !== "object" || value === null) return value;
  if (depth < 0) return REMOVED;
  if (Array.isArray(value)) return value.map((item) => withTexts(item, change, depth - 1));
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([name, item]) => [change(name), withTexts(item, change, depth - 1)]));
}

/** Each way to write a text of printable ASCII. */
function formsOfText(text: string): readonly SecretForm[] {
  const bytes = Buffer.from(text, "latin1");
  const hex = bytes.toString("hex");
  return [
    { begins: text, source: [...text].map(written).join("") },
    { begins: hex, source: hex },
    // In Base64 a text looks different at each of three offsets; characters that its neighbours share are left out.
    ...[0, 1, 2].map((offset) => base64At(bytes, offset)),
  ];
}

/** One character as it stands, escaped for JSON, or in percent. */
function written(character: string): string {
  const hex = character.charCodeAt(0).toString(16).padStart(2, "0");
  return `(?:\\x${hex}|%${hex}|\\\\(?:u00${hex}|\\x${hex}))`;
}

function base64At(bytes: Buffer, offset: number): SecretForm {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64url");
  const first = Math.ceil((offset * 8) / 6);
  const last = Math.floor(((offset + bytes.length) * 8) / 6);
  const begins = encoded.slice(first, last);
  return { begins, source: begins.replaceAll("-", "[-+]").replaceAll("_", "[_/]") };
}

/** Where the client writes what it does. The shape of pino and of most loggers: fields first, then the text. */
export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

const ignore = () => {};

/** The default: says nothing. */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** Nothing that the client logs lies deeper. */
const MOST_LOGGED_DEPTH = 8;

/** A logger that never sees the credential or a presigned query, whatever field or message holds it. */
export function redactingLogger(logger: Logger, redactor: Redactor): Logger {
  const clean = (said: string) => redactUrls(redactor.text(said));
  const pass = (level: keyof Logger) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    logger[level](withTexts(fields, clean, MOST_LOGGED_DEPTH) as Record<string, unknown>, clean(message));
  return { debug: pass("debug"), info: pass("info"), warn: pass("warn"), error: pass("error") };
}
