/** Query parameters that hold credentials. */
const SECRET =
  /^(?:x-(?:amz|goog)-.*|sig|signature|token|access_token|key|api_?key|expires|policy|key-pair-id|se|sp|sv|sr|hmac)$/i;

/** Removes signatures, tokens and passwords from URLs in a text. */
export function withoutSecrets(text: string): string {
  return text.replace(/\bhttps?:\/\/[^\s"'<>`]+/gi, cleaned);
}

function cleaned(url: string): string {
  const bare = url.replace(/^(https?:\/\/)[^/?#@]*@/i, "$1");
  const [path = "", query] = bare.split(/\?(.*)/s);
  if (query === undefined) return bare;
  const isSecret = query.split(/[&;#]/).some((pair) => SECRET.test(pair.split("=")[0] ?? ""));
  return isSecret ? `${path}?…` : bare;
}

/** Redacts every text within a value. */
export function redacted(value: unknown): unknown {
  if (typeof value === "string") return withoutSecrets(value);
  if (Array.isArray(value)) return value.map(redacted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redacted(item)]));
}
