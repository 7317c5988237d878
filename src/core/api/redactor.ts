import type { IncomingHttpHeaders } from "node:http";
import { redactUrls } from "../kit/clean-text.ts";
import { KnownSecrets, REDACTED } from "../kit/known-secrets.ts";

/** Removes the client's credential from received data before anything else reads it. */
export interface Redactor {
  text(text: string): string;
  json(text: string): unknown;
  headers(headers: IncomingHttpHeaders): IncomingHttpHeaders;
}

/** The maximum nesting in a response. Parts that are nested more deeply are redacted entirely. */
const MOST_DEPTH = 500;

export function createRedactor(apiKey: string): Redactor {
  const secrets = new KnownSecrets(apiKey);
  const text = (answer: string) => secrets.remove(answer);
  return {
    text,
    json(answer) {
      const value = parseJson(answer);
      // Search each string only if the raw text contains escapes or the credential.
      return answer.includes("\\") || text(answer) !== answer ? withTexts(value, text) : value;
    },
    headers: (answer) => withTexts(answer, text) as IncomingHttpHeaders,
  };
}

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
  if (depth < 0) return REDACTED;
  if (Array.isArray(value)) return value.map((item) => withTexts(item, change, depth - 1));
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([name, item]) => [change(name), withTexts(item, change, depth - 1)]));
}

/** The logger that the client writes to. Its methods take the fields first, then the message, as in pino. */
export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

const ignore = () => {};

export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

const MOST_LOGGED_DEPTH = 8;

export function redactingLogger(logger: Logger, redactor: Redactor): Logger {
  const clean = (text: string) => redactUrls(redactor.text(text));
  const pass = (level: keyof Logger) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    logger[level](withTexts(fields, clean, MOST_LOGGED_DEPTH) as Record<string, unknown>, clean(message));
  return { debug: pass("debug"), info: pass("info"), warn: pass("warn"), error: pass("error") };
}
