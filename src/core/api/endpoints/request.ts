import { ShowrunnerError } from "../../kit/errors.ts";
import { OptionError } from "../errors.ts";
import { type ApiRequest, type CallOptions, errorOf, type HttpContext, mayRepeat } from "../http/call.ts";
import { type HttpMethod, headerText } from "../http/transport.ts";
import type { BaseUrl } from "../options.ts";
import { withRetries } from "../retry.ts";
import { type OpenStream, openStream } from "../stream/stream.ts";

/** A request to any of the service's endpoints. */
export interface RawRequest {
  readonly method: HttpMethod;
  /** Path under the base URL, already encoded, such as `/jobs/job_1` or `/jobs?limit=5`. */
  readonly path: string;
  /** Parameters to append to the query of `path`. A name may occur more than once. */
  readonly query?: readonly (readonly [name: string, value: string])[] | undefined;
  /** Additional headers. Headers that the client sets itself, such as `authorization`, are not allowed. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The JSON body. Default: no body. */
  readonly json?: unknown;
}

/** An unparsed response with a 2xx status. */
export interface RawAnswer {
  /** HTTP status, 200 to 299. */
  readonly status: number;
  /** Headers by lower-case name. A header that occurs more than once is an array. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body's bytes as they arrive. Throws ConnectionError or TimeoutError if the connection breaks. */
  readonly body: AsyncIterable<Uint8Array>;
}

const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...["authorization", "proxy-authorization", "cookie", "host", "connection", "content-length"],
  ...["expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"],
]);

const MOST_LINE_CHARS = 16 * 1024 * 1024;

/** Sends a request to any endpoint. Retries a POST only if the first attempt is known to have had no effect. */
export async function request(
  context: HttpContext,
  { method, path, query = [], headers = {}, json }: RawRequest,
  options: CallOptions = {},
): Promise<RawAnswer> {
  const url = urlBelow(context.base, path);
  for (const [name, value] of query) url.searchParams.append(name, value);
  const target = url.href.slice(context.base.href.length);
  // The query may contain secrets, so messages leave it out.
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

/** Returns the URL of a path. Throws if the URL is outside the base URL, because requests contain the credential. */
function urlBelow(base: BaseUrl, path: string): URL {
  const fail = (why: string) =>
    new OptionError(`The path ${JSON.stringify(path)} ${why}; use a path below ${base.href}, such as /jobs?limit=5.`);
  if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(path)) throw fail("contains a host");
  // Programs disagree on how to read backslashes, spaces and control characters.
  if (/[\\#\s\p{Cc}]/u.test(path)) throw fail("contains a character that is not allowed in a path");
  const [name = ""] = path.split("?");
  if (isOutside(name)) throw fail("leads outside the service's address");
  const href = `${base.href}/${path.replace(/^\//, "")}`;
  const url = URL.canParse(href) ? new URL(href) : null;
  if (url === null || !url.href.startsWith(`${base.href}/`)) throw fail("leads outside the service's address");
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
    if (OWN_HEADERS.has(lower)) throw new OptionError(`The client sets the header ${name} itself; leave it out.`);
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[^\t\x20-\x7E\x80-\xFF]/.test(value))
      throw new OptionError(`The header ${JSON.stringify(name)} contains a character that is not allowed in a header.`);
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
      // Search whole lines, because a credential that is split between two chunks would not be found.
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
