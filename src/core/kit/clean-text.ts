import { isSecretName, REDACTED, secretsOfProcess } from "./known-secrets.ts";

declare const clean: unique symbol;

/**
 * Text that may be written to the journal, a file or a screen: external text cleaned by {@link cleanText}, or our own
 * text marked by {@link ownText}. Text in events from the journal is clean, because it was cleaned when it was written.
 */
export type CleanText = string & { readonly [clean]: true };

const MOST_CHARACTERS = 2_000;
/**
 * Characters that would control a terminal or reorder text: control characters except tabs and line breaks, and
 * direction marks.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must go
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Sanitizes external text: removes secrets, URL query strings, and characters that change how text is displayed. */
export function cleanText(text: string, most = MOST_CHARACTERS): CleanText {
  // The text is cut before it is searched, to limit the work. A cut query is still recognized, but a cut word could be
  // half a secret, so the last word is removed.
  const cut = text.length > 4 * most ? text.slice(0, 4 * most).replace(/\S{1,200}$/, "") : text;
  const plain = redactText(secretsOfProcess.remove(cut)).replace(STEERING, "\ufffd");
  return (plain.length > most ? `${plain.slice(0, most - 1)}…` : plain) as CleanText;
}

/** Marks text as clean because Showrunner or its user wrote it. The text must contain nothing from a service. */
export function ownText(text: string): CleanText {
  return text as CleanText;
}

export function sentence(texts: TemplateStringsArray, ...parts: readonly (CleanText | number)[]): CleanText {
  return String.raw({ raw: texts }, ...parts) as CleanText;
}

export function withoutFullStop<T extends string>(text: T): T {
  return text.replace(/(?<!\.)\.$/, "") as T;
}

export function cleanId(text: string | null): CleanText | null {
  return text !== null && /^[\w.:/@+=~-]{1,300}$/.test(text) ? (text as CleanText) : null;
}

export function cleanContentType(text: string | null): CleanText | null {
  const type = text?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/.test(type) ? (type as CleanText) : null;
}

/** Returns a URL that a person can open, or null. Drops the query, which may be secret, except for `workspace_id`. */
export function cleanAddress(text: string): CleanText | null {
  if (text.length > MOST_CHARACTERS || !URL.canParse(text)) return null;
  const { protocol, username, password, searchParams } = new URL(text);
  const isWeb = protocol === "https:" || protocol === "http:";
  if (!isWeb || username !== "" || password !== "") return null;
  const workspace = searchParams.get("workspace_id") ?? "";
  const query = /^[\w-]{1,64}$/.test(workspace) ? `?workspace_id=${workspace}` : "";
  return `${redactUrl(text)}${query}` as CleanText;
}

/** Returns a web origin such as `http://assets.corp:8080`; null if the text is not one or has a path. */
export function webOrigin(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { protocol, origin, href } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && href === `${origin}/` ? origin : null;
}

/**
 * Makes a URL fit for logs and messages: removes the query (which makes a presigned URL a secret), the fragment, the
 * user name and the password. Text that is not a URL loses everything after a `?` or `#`.
 */
export function redactUrl(url: string): string {
  if (!URL.canParse(url)) return url.replace(/[?#].*$/s, "").replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, "$1");
  const parsed = new URL(url);
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

/** Redacts every URL in the text, including database URLs, and removes query strings from paths. */
export function redactUrls(text: string): string {
  return (
    text
      // Search each run of characters only once. Text before the URL's scheme is kept.
      // Punctuation after a URL is not part of it, so "https://;" is only a scheme.
      .replace(/(?<![a-z0-9+.-])([a-z0-9+.-]*)(:\/\/[^\s"'<>]*[^\s"'<>.,:;!?)])/gi, (_, run: string, rest: string) => {
        const at = run.search(/[a-z]/i);
        return at < 0 ? run + rest.replace(/[?#].*$/s, "") : run.slice(0, at) + redactUrl(run.slice(at) + rest);
      })
      // Match each path together with its query, if any. Otherwise a long text would be searched again from each slash.
      .replace(/(\/[^\s"'<>?#]*)(\?[^\s"'<>]*)?/g, (all: string, path: string, query?: string) => {
        return query?.includes("=") === true ? path : all;
      })
  );
}

export function redactText(text: string): string {
  return redactUrls(withoutPairs(text.replace(SECRET_TEXT, REDACTED)));
}

/**
 * Maximum nesting depth. A value that is nested more deeply is redacted as a whole, because legitimate data is never
 * that deep.
 */
const MOST_DEPTH = 100;

/** Makes JSON safe to publish: removes secrets, even from JSON in strings, and passes other strings through `clean`. */
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
    // A schema only describes fields, so it contains no secret values.
    if (!isSchema && inner !== null && isSecretName(name)) return REDACTED;
    // A regular expression may look like a path with a query.
    if (name === "pattern" && typeof inner === "string" && !inner.includes("://"))
      return inner.replace(SECRET_TEXT, REDACTED);
    return cleaned(inner, depth, name === "properties");
  };
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

/** Matches what looks like a secret. It must be fast, because text can be megabytes long. */
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

/** Matches a name and its value in text, as written in form data, headers or JSON, even if the value is cut off. */
const PAIR = /(?<![\w-])([a-z][\w-]*)(["'\\]{0,2}\s{0,2}[=:]\s{0,2}["'\\]{0,2})([^\s"'\\&,;{}[\]]+)/gi;

function withoutPairs(text: string): string {
  return text.replace(PAIR, (all: string, name: string, between: string, value: string) => {
    if (!isSecretName(name)) return all;
    // Keep prose such as "token: missing".
    const isProse = /^\s*:/.test(between) && (value.length < 8 || !/\d/.test(value));
    return isProse ? all : `${name}${between}${REDACTED}`;
  });
}

export function thrownText(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message || thrown.name : thrown);
  } catch {
    return "the thrown value is not an error and has no text";
  }
}
