import { isSecretName, REDACTED, secretsOfProcess } from "./known-secrets.ts";

declare const clean: unique symbol;

/**
 * A text that may stand in the journal, in a file or on a screen: one of others that was cleaned here, or {@link ownText}.
 * What an event read from the journal says was one when it was written.
 */
export type CleanText = string & { readonly [clean]: true };

/** Longest text of others that is kept, in characters. */
const MOST_CHARACTERS = 2_000;
/** What would steer a terminal or turn the order of what is read: controls but for tabs and line breaks, and marks of direction. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must go
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * A text without secrets: those that this process knows and what looks like one; without queries of addresses, without characters
 * that steer what shows it, and no longer than is of use.
 */
export function cleanText(text: string, most = MOST_CHARACTERS): CleanText {
  // Cut before it is searched, so that the work is bounded too; a query that was cut is still one, a word may be half a secret.
  const cut = text.length > 4 * most ? text.slice(0, 4 * most).replace(/\S{1,200}$/, "") : text;
  const plain = redactText(secretsOfProcess.remove(cut)).replace(STEERING, "\ufffd");
  return (plain.length > most ? `${plain.slice(0, most - 1)}…` : plain) as CleanText;
}

/** Names a text as ours or our user's in whole: no part of it comes from a service. */
export function ownText(text: string): CleanText {
  return text as CleanText;
}

/** A sentence with texts of others in it, each of them clean. */
export function sentence(texts: TemplateStringsArray, ...parts: readonly (CleanText | number)[]): CleanText {
  return String.raw({ raw: texts }, ...parts) as CleanText;
}

/** An id of others; null where it can be none. */
export function cleanId(text: string | null): CleanText | null {
  return text !== null && /^[\w.:/@+=~-]{1,300}$/.test(text) ? (text as CleanText) : null;
}

/** A MIME type without parameters; null where it is none. */
export function cleanContentType(text: string | null): CleanText | null {
  const type = text?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/.test(type) ? (type as CleanText) : null;
}

/**
 * An address that a person may open; null where it is none. Of its query, which may be a secret, it keeps the workspace that
 * a funding address names.
 */
export function cleanAddress(text: string): CleanText | null {
  if (text.length > MOST_CHARACTERS || !URL.canParse(text)) return null;
  const { protocol, username, password, searchParams } = new URL(text);
  const isWeb = protocol === "https:" || protocol === "http:";
  if (!isWeb || username !== "" || password !== "") return null;
  const workspace = searchParams.get("workspace_id") ?? "";
  const query = /^[\w-]{1,64}$/.test(workspace) ? `?workspace_id=${workspace}` : "";
  return `${redactUrl(text)}${query}` as CleanText;
}

/**
 * A URL fit for logs and messages: no query and no fragment, because a presigned URL is a secret by its query, and no
 * user information. What is no URL is returned without anything after a `?`.
 */
export function redactUrl(url: string): string {
  if (!URL.canParse(url)) return url.replace(/[?#].*$/s, "").replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, "$1");
  const parsed = new URL(url);
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

/** A text in which every URL, of a database too, is fit for messages and journals, and a path has no query either. */
export function redactUrls(text: string): string {
  return (
    text
      // A run that may be a scheme is gone through once; what stands in it before the scheme stays.
      .replace(/(?<![a-z0-9+.-])([a-z0-9+.-]*)(:\/\/[^\s"'<>]+)/gi, (_, run: string, rest: string) => {
        const at = run.search(/[a-z]/i);
        return at < 0 ? run + rest.replace(/[?#].*$/s, "") : run.slice(0, at) + redactUrl(run.slice(at) + rest);
      })
      // What follows a path is always taken with it, or a long text without queries would be searched from each slash anew.
      .replace(/(\/[^\s"'<>?#]*)(\?[^\s"'<>]*)?/g, (all: string, path: string, query?: string) => {
        return query?.includes("=") === true ? path : all;
      })
  );
}

/** A text without what looks like a credential or is named like one, and with addresses up to their path. */
export function redactText(text: string): string {
  return redactUrls(withoutPairs(text.replace(SECRET_TEXT, REDACTED)));
}

/** Nothing that is meant to be read lies deeper. */
const MOST_DEPTH = 100;

/**
 * A JSON value fit to be kept in a repository and shown to anybody: whatever is named like a secret is out, whole, in objects, in
 * texts that are JSON themselves and in forms; every other text passes `clean`. What was cleaned before stays as it is.
 */
export function withoutSecrets(value: unknown, clean: (text: string) => string = redactText): unknown {
  const cleaned = (item: unknown, depth: number, isSchema = false): unknown => {
    if (typeof item === "string") return cleanEmbedded(item, depth) ?? clean(item);
    if (typeof item !== "object" || item === null) return item;
    if (depth === 0) return REDACTED;
    if (Array.isArray(item)) return item.map((inner) => cleaned(inner, depth - 1));
    const entries = Object.entries(item).map(([name, inner]) => [clean(name), field(name, inner, depth - 1, isSchema)]);
    return Object.fromEntries(entries);
  };
  const field = (name: string, inner: unknown, depth: number, isSchema: boolean): unknown => {
    // A schema describes the fields that it names, and holds none of their values.
    if (!isSchema && inner !== null && isSecretName(name)) return REDACTED;
    // An expression of a schema may look like a path with a query.
    if (name === "pattern" && typeof inner === "string" && !inner.includes("://"))
      return inner.replace(SECRET_TEXT, REDACTED);
    return cleaned(inner, depth, name === "properties");
  };
  /** A text that is a JSON object or list, cleaned as one; null where it is none or holds nothing to be cleaned. */
  const cleanEmbedded = (text: string, depth: number): string | null => {
    if (depth === 0 || !/^\s*[[{]/.test(text)) return null;
    try {
      const inner: unknown = JSON.parse(text);
      const result = cleaned(inner, depth - 1);
      return JSON.stringify(result) === JSON.stringify(inner) ? text : JSON.stringify(result);
    } catch {
      return null;
    }
  };
  return cleaned(value, MOST_DEPTH);
}

/**
 * Texts are megabytes long: an alternative begins at most once in a run of characters that it may go through, and how long the run
 * is at least is looked at before, as a count above three would be kept for each character.
 */
const SECRET_TEXT = new RegExp(
  [
    "(?:-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[^-]*-(?!-)){0,8}[^-]*(?:-----END [A-Z ]{0,30}-----)?)",
    String.raw`(?:\b(?:bearer|basic|key|token)\s+(?=\S*[\d:=])(?=[\w.~+/:-]{12})[\w.~+/:-]*=*)`,
    String.raw`(?:\bdigest\s+(?=\w+=)[^\r\n]*)`,
    String.raw`(?:(?<![\w-])(?=[\w-]+\.(?=[\w-]{8})[\w-]+\.)(?:[\w-]*?-)?eyJ(?=[\w-]{8})[\w-]+\.[\w-]+\.[\w-]*)`,
    String.raw`(?:\b(?:sk|pk|rk|r8|xi|vck|fal|gh[opusr]|github_pat|glpat|npm|xox[abeprs])[-_](?=[\w-]{16})[\w-]*)`,
    String.raw`(?:\bkey_(?=[\w-]{1,64}:)[\w-]*:(?=[\w-]{8})[\w-]*)`,
    String.raw`(?:\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}:(?=[\da-f]{16})[\da-f]*)`,
    String.raw`(?:\b(?:AKIA[0-9A-Z]{16}\b|AIza(?=[\w-]{30})[\w-]*))`,
  ].join("|"),
  "gi",
);

/** A name and its value: of a form, of JSON that is in another text or was cut, of a header. */
const PAIR = /(?<![\w-])([a-z][\w-]*)(["'\\]{0,2}\s{0,2}[=:]\s{0,2}["'\\]{0,2})([^\s"'\\&,;{}[\]]+)/gi;

function withoutPairs(text: string): string {
  return text.replace(PAIR, (all: string, name: string, between: string, value: string) => {
    if (!isSecretName(name)) return all;
    // Of prose such as "token: missing" nothing is lost.
    const isProse = /^\s*:/.test(between) && (value.length < 8 || !/\d/.test(value));
    return isProse ? all : `${name}${between}${REDACTED}`;
  });
}

/** What was thrown, which may be anything, as a text. */
export function thrownText(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message || thrown.name : thrown);
  } catch {
    return "what was thrown is no error, and has no text";
  }
}
