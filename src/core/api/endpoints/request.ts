import { ShowrunnerError } from "../../kit/errors.ts";
import { OptionError } from "../errors/client-errors.ts";
import { type ApiRequest, type CallOptions, errorOf, type HttpContext, mayRepeat, withRetries } from "../http/call.ts";
import { headerText } from "../http/headers.ts";
import type { HttpMethod } from "../http/transport.ts";
import type { BaseUrl } from "../options.ts";
import { type OpenStream, openStream } from "../stream/stream.ts";

/** A request to any endpoint of the service. */
export interface RawRequest {
  readonly method: HttpMethod;
  /** Below the base, encoded, such as `/jobs/job_1` or `/jobs?limit=5`. */
  readonly path: string;
  /** Added to the query of `path`; a name may occur more than once. */
  readonly query?: readonly (readonly [name: string, value: string])[] | undefined;
  /** Sent beside the client's own; the credential and what frames the message are not among them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The body as a JSON value; absent: no body. */
  readonly json?: unknown;
}

/** A successful answer. */
export interface RawAnswer {
  /** 200 to 299. */
  readonly status: number;
  /** By lower-case name; an array where one came several times. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes as they come, in texts without the client's credential. Throws ConnectionError or TimeoutError where it breaks off. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Headers that would change who is called, as whom, or where the message ends. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...["authorization", "proxy-authorization", "cookie", "host", "connection", "content-length"],
  ...["expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"],
]);

/** Longest line of a text that is looked through for the credential. */
const MOST_LINE_CHARS = 16 * 1024 * 1024;

/**
 * Sends a request to an endpoint that this client has no method for. Everything but POST is sent again after lost answers,
 * 429 and 5xx; a POST only where the service certainly did nothing. Throws OptionError for a path that leaves the base,
 * ApiError for an answer outside 2xx, and ConnectionError or TimeoutError when none came.
 */
export async function request(
  context: HttpContext,
  { method, path, query = [], headers = {}, json }: RawRequest,
  options: CallOptions = {},
): Promise<RawAnswer> {
  const url = urlBelow(context.base, path);
  for (const [name, value] of query) url.searchParams.append(name, value);
  const target = url.href.slice(context.base.href.length);
  // A query may hold what nobody should read in a message.
  const shown = { method, path: target.split("?", 1)[0]! };
  const outgoing = { method, path: target, json, requestClass: method === "GET" ? "read" : "write" } as const;
  const extra = { accept: "application/json, text/event-stream, */*", ...extraHeaders(headers) };
  const repeat: ApiRequest["repeat"] = method === "POST" ? "unless-done" : "always";
  const opened = await withRetries<OpenStream>(context, options, async () => {
    const result = await openStream(context, outgoing, options, extra, isSuccess);
    if (result.kind === "aborted") throw result.reason;
    if (result.kind === "open") return { value: result };
    const error = errorOf(context, shown, options, result);
    return { error, mayRepeat: mayRepeat(repeat, error) };
  });
  return { status: opened.status, headers: opened.headers, body: bodyOf(context, opened, shown, options) };
}

const isSuccess = (status: number) => status >= 200 && status < 300;

/** The address of a path below the base. No spelling of it may lead anywhere else: the credential goes along. */
function urlBelow(base: BaseUrl, path: string): URL {
  const fail = (why: string) =>
    new OptionError(`The path ${JSON.stringify(path)} ${why}; give one below ${base.href}, such as /jobs?limit=5.`);
  if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(path)) throw fail("names a host of its own");
  // Backslashes, spaces and control characters are read differently by different programs.
  if (/[\\#\s\p{Cc}]/u.test(path)) throw fail("has a character that does not belong in a path");
  const [name = ""] = path.split("?");
  if (isOutside(name)) throw fail("leaves the service's address");
  const href = `${base.href}/${path.replace(/^\//, "")}`;
  const url = URL.canParse(href) ? new URL(href) : null;
  if (url === null || !url.href.startsWith(`${base.href}/`)) throw fail("leaves the service's address");
  return url;
}

function isOutside(path: string): boolean {
  try {
    return decodeURIComponent(path)
      .split(/[/\\]/)
      .some((part) => part === "." || part === "..");
  } catch {
    return true;
  }
}

function extraHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => {
    const lower = name.toLowerCase();
    if (OWN_HEADERS.has(lower)) throw new OptionError(`The header ${name} is the client's own; leave it out.`);
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[^\t\x20-\x7E\x80-\xFF]/.test(value))
      throw new OptionError(`The header ${JSON.stringify(name)} has a character that a header cannot have.`);
    return [lower, value];
  });
  return Object.fromEntries(entries);
}

async function* bodyOf(
  { redactor, ...context }: HttpContext,
  opened: OpenStream,
  target: Pick<ApiRequest, "method" | "path">,
  options: CallOptions,
): AsyncGenerator<Uint8Array, void> {
  const isText = /^(?:text\/|[^;]*(?:json|xml))/i.test(headerText(opened.headers, "content-type") ?? "");
  const decoder = new TextDecoder();
  let line = "";
  try {
    for await (const chunk of opened.body as AsyncIterable<Buffer>) {
      opened.extend();
      if (!isText) {
        yield chunk;
        continue;
      }
      line += decoder.decode(chunk, { stream: true });
      // Half a credential would not be found.
      const end = line.lastIndexOf("\n") + 1;
      if (line.length - end > MOST_LINE_CHARS) throw new Error(`a line is longer than ${MOST_LINE_CHARS} characters`);
      if (end > 0) yield Buffer.from(redactor.text(line.slice(0, end)));
      line = line.slice(end);
    }
    line += decoder.decode();
    if (line !== "") yield Buffer.from(redactor.text(line));
  } catch (cause) {
    options.signal?.throwIfAborted();
    if (cause instanceof ShowrunnerError) throw cause;
    const lost = { kind: "lost", sent: true, timedOut: opened.timedOut(), cause } as const;
    throw errorOf({ redactor, ...context }, target, options, lost);
  } finally {
    opened.release();
    opened.body.destroy();
  }
}
