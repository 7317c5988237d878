import { OptionError } from "./errors/client-errors.ts";

/** The v3 base, parsed once. */
export interface BaseUrl {
  /** Without a trailing slash, such as `https://host/v3`. */
  readonly href: string;
  readonly origin: string;
}

/**
 * Accepts the base with or without a trailing slash. Refuses a v2 base, because that API has another credential, another
 * wallet and other paths, and refuses URLs with a user, a query or a fragment.
 */
export function parseBaseUrl(input: string): BaseUrl {
  let url: URL;
  try {
    url = new URL(input);
  } catch (cause) {
    throw new OptionError(`baseUrl is not a URL. Give the service's v3 address, such as https://host/v3.`, { cause });
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new OptionError(`baseUrl must start with http:// or https://, not ${url.protocol}//.`);
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new OptionError("baseUrl must not carry a user, a query or a fragment; the key goes into apiKey.");
  }
  const path = url.pathname.replace(/\/+$/, "");
  if (/(^|\/)v2(\/|$)/i.test(path)) {
    throw new OptionError(
      `baseUrl ${url.origin}${path} is the previous API (v2). Give the v3 address; see docs/client.md.`,
    );
  }
  return { href: `${url.origin}${path}`, origin: url.origin };
}

/**
 * Makes a URL of a path that the service named. Such paths already contain /v3, so they stand on the origin. Null for
 * what would lead to another origin: a credential has no business there.
 */
export function resolveServicePath(base: BaseUrl, path: string): string | null {
  if (!URL.canParse(path, base.origin)) return null;
  const url = new URL(path, base.origin);
  return url.origin === base.origin ? url.href : null;
}

/** One path segment from a value that others chose. */
export function segment(value: string): string {
  if (value === "" || value === "." || value === "..") {
    throw new OptionError(`"${value}" cannot be part of a request path; give the id as the service issued it.`);
  }
  return encodeURIComponent(value);
}
