/**
 * A URL fit for logs and messages: no query and no fragment, because a presigned URL is a secret by its query, and no
 * user information. What is no URL is returned without anything after a `?`.
 */
export function redactUrl(url: string): string {
  try {
    const parsed = new URL(url);
    return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
  } catch {
    return url.replace(/[?#].*$/s, "");
  }
}
