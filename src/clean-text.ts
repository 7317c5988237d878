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

/** A text without queries of addresses, without characters that steer what shows it, and no longer than is of use. */
export function cleanText(said: string, most = MOST_CHARACTERS): CleanText {
  // Cut before it is searched, so that the work is bounded too; a query that was cut is still one.
  const plain = redactUrls(said.slice(0, 4 * most)).replace(STEERING, "\ufffd");
  return (plain.length > most ? `${plain.slice(0, most - 1)}…` : plain) as CleanText;
}

/** Names a text as ours or our user's in whole: no part of it comes from a service. */
export function ownText(text: string): CleanText {
  return text as CleanText;
}

/** A sentence with texts of others in it, each of them clean. */
export function sentence(own: TemplateStringsArray, ...parts: readonly (CleanText | number)[]): CleanText {
  return String.raw({ raw: own }, ...parts) as CleanText;
}

/** An id of others; null where it can be none. */
export function cleanId(said: string | null): CleanText | null {
  return said !== null && /^[\w.:/@+=~-]{1,300}$/.test(said) ? (said as CleanText) : null;
}

/** A MIME type without parameters; null where it is none. */
export function cleanContentType(said: string | null): CleanText | null {
  const type = said?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/.test(type) ? (type as CleanText) : null;
}

/**
 * An address that a person may open; null where it is none. Of its query, which may be a secret, it keeps the workspace that
 * a funding address names.
 */
export function cleanAddress(said: string): CleanText | null {
  if (said.length > MOST_CHARACTERS || !URL.canParse(said)) return null;
  const { protocol, username, password, searchParams } = new URL(said);
  const isWeb = protocol === "https:" || protocol === "http:";
  if (!isWeb || username !== "" || password !== "") return null;
  const workspace = searchParams.get("workspace_id") ?? "";
  const query = /^[\w-]{1,64}$/.test(workspace) ? `?workspace_id=${workspace}` : "";
  return `${redactUrl(said)}${query}` as CleanText;
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

/** A text in which every URL is fit for messages and journals, and a path has no query either. */
export function redactUrls(text: string): string {
  return (
    text
      .replace(/\b(?:https?|wss?|s3|gs):\/\/[^\s"'<>]+/gi, redactUrl)
      // What follows a path is always taken with it, or a long text without queries would be searched from each slash anew.
      .replace(/(\/[^\s"'<>?#]*)(\?[^\s"'<>]*)?/g, (all: string, path: string, query?: string) => {
        return query?.includes("=") === true ? path : all;
      })
  );
}
