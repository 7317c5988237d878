import { basename } from "node:path/posix";
import type { Json } from "../../plan/plan.ts";

const REMOVED = "[removed]";
const SECRET_NAME =
  /(?:secret|password|passwd|passphrase|apikey|accesskey|privatekey|token|authorization|credentials?|cookie)$/;
/** Credentials that are known by their looks: of HTTP headers, of this service, and of common others. */
const SECRET_TEXT = [
  /\b(Bearer|Basic|Key) [\w.~+/:=-]{8,}/g,
  /\bkey_[\w-]+:[\w-]{8,}/g,
  /\b(?:sk|rk|pk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{16,}/g,
  /\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-)[\w-]{16,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+/g,
];
const URL_LIKE = /\b([a-z][a-z0-9+.-]*:\/\/)([^\s"'<>]+)/gi;

/** JSON that may be shown to anybody: fields and texts that are secrets are out, URLs lose all that can be one. */
export function cleanJson(value: Json): Json {
  if (typeof value === "string") return cleanText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(cleanJson);
  const record = value as { readonly [key: string]: Json };
  if (isLocalFile(record)) return { file: basename(String(record.path).replaceAll("\\", "/")), kind: record.kind! };
  return Object.fromEntries(
    Object.entries(record).map(([key, item]) => [key, isSecret(key, item) ? REMOVED : cleanJson(item)]),
  );
}

/** A text without credentials, and with URLs up to their path only: a presigned URL is a secret by its query. */
export function cleanText(text: string): string {
  const urls = text.replace(URL_LIKE, (_, scheme: string, rest: string) => {
    const address = rest.replace(/[?#].*$/s, "");
    const at = address.split("/", 1)[0]!.lastIndexOf("@");
    return `${scheme}${address.slice(at + 1)}`;
  });
  return SECRET_TEXT.reduce((clean, pattern) => clean.replace(pattern, REMOVED), urls);
}

function isSecret(name: string, value: Json): boolean {
  return typeof value === "string" && SECRET_NAME.test(name.replace(/[^a-z]/gi, "").toLowerCase());
}

/** A file of the pipeline's input: where it lies on somebody's disk is nobody else's business. */
function isLocalFile({ path, kind, ...rest }: { readonly [key: string]: Json }): boolean {
  const isKind = kind === "image" || kind === "video" || kind === "audio";
  return typeof path === "string" && isKind && Object.keys(rest).length === 0;
}
