import type { Redactor } from "./redactor.ts";

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

/** A text without the credential and without the query of any URL in it. */
function redactText(text: string, redactor: Redactor): string {
  return redactor.text(text).replace(/(https?:\/\/[^\s"'<>?#]+)[?#][^\s"'<>]*/gi, "$1?[redacted]");
}

/** A logger that never sees the credential or a presigned query, whatever field or message holds it. */
export function redactingLogger(logger: Logger, redactor: Redactor): Logger {
  const clean = (value: unknown, depth = 0): unknown => {
    if (typeof value === "string") return redactText(value, redactor);
    if (value instanceof Error) return redactText(`${value.name}: ${value.message}`, redactor);
    if (typeof value !== "object" || value === null || depth > 4) return value;
    if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, clean(item, depth + 1)]));
  };
  const pass = (level: keyof Logger) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    logger[level](clean(fields) as Record<string, unknown>, redactText(message, redactor));
  return { debug: pass("debug"), info: pass("info"), warn: pass("warn"), error: pass("error") };
}
