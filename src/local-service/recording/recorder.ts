import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, rename, rm } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { Busboy } from "@fastify/busboy";
import { createClient } from "../../core/api/client.ts";
import { parseBaseUrl } from "../../core/api/options.ts";
import { cleanContentType, cleanId } from "../../core/kit/clean-text.ts";
import { createForwarder, type Forwarder } from "../../core/network/index.ts";
import { systemCode } from "../errors.ts";
import { isRecord, parsed } from "../json.ts";
import { Cleaner } from "./cleaner.ts";
import { RECORDED_MEDIA, RECORDED_PARTS, type RecordedFrame, requestLine, uploadMark } from "./recorded-values.ts";
import { type RecordedLine, RecordingError, RecordingFile } from "./recording-file.ts";

export interface RecorderOptions {
  readonly folder: string;
  readonly baseUrl: string;
  readonly port: number;
  /** Whether to record media. Without media, a replay creates placeholders of the same kind, size and duration. */
  readonly keepMedia: boolean;
  readonly say: (text: string) => void;
}

export interface Recorder {
  /** URL that the recorded program uses instead of the service's base URL. */
  readonly baseUrl: string;
  readonly lines: number;
  close(): Promise<void>;
}

/** Maximum size of a recorded body. Larger bodies are forwarded but not recorded. */
const MOST_BYTES = 16 * 1024 * 1024;
const HOP_BY_HOP = new Set(
  "connection keep-alive proxy-connection te trailer transfer-encoding upgrade expect host accept-encoding".split(" "),
);

/**
 * Starts a proxy that records responses, but never the caller's credential.
 * @throws RecordingError
 */
export async function startRecorder(options: RecorderOptions): Promise<Recorder> {
  const base = parseBaseUrl(options.baseUrl);
  const file = await RecordingFile.open(options.folder, base.href, Date.now());
  const forwarder = createForwarder();
  const media = options.keepMedia ? openMediaKeeper(options.folder, base.href, file, options.say) : null;
  const recording = new Recording(base, { file, forwarder, media, say: options.say });
  const server = createServer((incoming, outgoing) => void recording.serve(incoming, outgoing));
  server.requestTimeout = 0;
  try {
    await once(server.listen({ port: options.port, host: "127.0.0.1" }), "listening");
  } catch (cause) {
    await Promise.all([file.close(), forwarder.close(), media?.close()]);
    const why = systemCode(cause) === "EADDRINUSE" ? "is in use by another program" : "cannot be used";
    throw new RecordingError(`Port ${options.port} on 127.0.0.1 ${why}; use 0 for any free port.`, { cause });
  }
  const { port } = server.address() as AddressInfo;
  recording.hosts = new Set([`127.0.0.1:${port}`, `localhost:${port}`]);
  let closing: Promise<void> | null = null;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await recording.idle();
    await Promise.all([forwarder.close(), media?.close()]);
    await file.close();
  };
  return {
    baseUrl: `http://127.0.0.1:${port}${base.href.slice(base.origin.length)}`,
    get lines() {
      return recording.lines;
    },
    close: () => (closing ??= close()),
  };
}

interface Parts {
  readonly file: RecordingFile;
  readonly forwarder: Forwarder;
  readonly media: ReturnType<typeof openMediaKeeper> | null;
  readonly say: (text: string) => void;
}

class Recording {
  lines = 0;
  hosts: ReadonlySet<string> = new Set();
  readonly #base: { readonly href: string; readonly origin: string };
  readonly #parts: Parts;
  readonly #cleaner: Cleaner;
  readonly #open = new Set<Promise<void>>();
  readonly #reported = new Set<string>();

  constructor(base: { readonly href: string; readonly origin: string }, parts: Parts) {
    this.#base = base;
    this.#parts = parts;
    this.#cleaner = new Cleaner(parts.file.uploads);
  }

  serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const served = this.#serve(incoming, outgoing).catch((error: Error) => {
      this.#say(`A ${incoming.method} request could not be forwarded: ${this.#cleaner.text(error.message)}`);
      outgoing.destroy();
    });
    this.#open.add(served);
    return served.finally(() => this.#open.delete(served));
  }

  async idle(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const target = this.#targetOf(incoming);
    if (target === null) {
      incoming.resume();
      outgoing.writeHead(404, { "Content-Type": "text/plain", Connection: "close" });
      outgoing.end(`This address records only requests to ${this.#base.href}.\n`);
      return;
    }
    this.#cleaner.learnRequest(incoming.headers);
    const path = (target.pathname + target.search).slice(this.#base.href.length - this.#base.origin.length);
    const seen = await this.#pass(incoming, outgoing, target, path);
    const isRecorded = RECORDED_PARTS.has(path.split(/[/?]/, 2)[1] ?? "");
    if (seen !== null && isRecorded) await this.#record(seen);
  }

  #targetOf({ headers, url = "" }: IncomingMessage): URL | null {
    if (!this.hosts.has(headers.host?.toLowerCase() ?? "") || !url.startsWith("/")) return null;
    const text = `${this.#base.origin}${url}`;
    if (!URL.canParse(text)) return null;
    const target = new URL(text);
    return target.href.startsWith(`${this.#base.href}/`) ? target : null;
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse, target: URL, path: string): Promise<Seen | null> {
    const { method = "GET", headers } = incoming;
    const isUpload = /^multipart\//i.test(headers["content-type"] ?? "");
    const upload = isUpload ? uploadHash(headers) : null;
    const sent = new Gathered();
    const hasBody = headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
    const see = (chunk: Buffer) => (upload === null ? sent.add(chunk) : upload.add(chunk));
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    const answer = await this.#parts.forwarder.send(target, {
      method,
      headers: { ...passedOn(headers), "accept-encoding": "identity" },
      body: hasBody ? Readable.from(seenBy(see, incoming), { objectMode: false }) : null,
      signal: gone.signal,
    });
    this.#cleaner.learnAnswer(answer.headers);
    outgoing.writeHead(answer.statusCode, passedOn(answer.headers));
    outgoing.flushHeaders();
    const received = new Gathered();
    answer.body.on("data", (chunk: Buffer) => received.add(chunk));
    const isWhole = await pipeline(answer.body, outgoing).then(
      () => true,
      () => false,
    );
    // The caller disconnected, so the service did not cut the answer.
    if (!isWhole && answer.body.errored?.name === "AbortError") return null;
    const [body, text] = [sent.text(), received.text()];
    if (body === null || text === null) {
      this.#say(
        `${method} ${this.#cleaner.text(path)} was not recorded: the request or response body exceeds ${MOST_BYTES} bytes.`,
      );
      return null;
    }
    const sha256 = (await upload?.digest()) ?? null;
    const { statusCode: status } = answer;
    return { method, path, body, sha256, status, headers: answer.headers, answer: text, cut: !isWhole };
  }

  async #record(seen: Seen): Promise<void> {
    try {
      const line = lineOf(seen, this.#cleaner);
      if (line !== null && (await this.#parts.file.add(line, Date.now()))) this.lines += 1;
    } catch (error) {
      this.#say(`Recording stopped: ${this.#cleaner.text((error as Error).message)}`);
    }
    for (const { asset, url } of outputsOf(seen)) this.#parts.media?.keep(this.#cleaner.text(asset), url);
  }

  #say(text: string): void {
    if (this.#reported.has(text) || this.#reported.size > 1000) return;
    this.#reported.add(text);
    this.#parts.say(text);
  }
}

async function* seenBy(see: (chunk: Buffer) => void, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    see(chunk);
    yield chunk;
  }
}

class Gathered {
  #chunks: Buffer[] | null = [];
  #sizeBytes = 0;

  add(chunk: Buffer): void {
    this.#sizeBytes += chunk.length;
    if (this.#sizeBytes > MOST_BYTES) this.#chunks = null;
    this.#chunks?.push(chunk);
  }

  text(): string | null {
    return this.#chunks === null ? null : Buffer.concat(this.#chunks).toString("utf8");
  }
}

function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = new Set([headers.connection ?? ""].flat().flatMap((text) => text.toLowerCase().split(/\s*,\s*/)));
  const kept = Object.entries(headers).filter(
    (entry): entry is [string, string | string[]] =>
      entry[1] !== undefined && !HOP_BY_HOP.has(entry[0]) && !named.has(entry[0]),
  );
  return Object.fromEntries(kept);
}

function openMediaKeeper(folder: string, baseUrl: string, file: RecordingFile, say: (text: string) => void) {
  const client = createClient({ baseUrl, apiKey: null });
  const media = join(folder, RECORDED_MEDIA);
  const requested = new Set<string>();
  let fetching: Promise<void> = Promise.resolve();

  async function fetchAsset(asset: string, url: string): Promise<void> {
    await mkdir(media, { recursive: true, mode: 0o700 });
    const part = join(media, `.part-${process.pid}`);
    try {
      const { sha256, sizeBytes, contentType } = await client.download(url, part);
      await rename(part, join(media, sha256));
      await file.addAsset({ asset, sha256, size_bytes: sizeBytes, content_type: cleanContentType(contentType) });
    } catch (error) {
      say(`The output ${asset} was not saved: ${(error as Error).message}`);
    } finally {
      await rm(part, { force: true });
    }
  }

  return {
    keep(id: string, url: string): void {
      const asset = cleanId(id);
      if (asset === null || requested.has(asset) || file.hasAsset(asset)) return;
      requested.add(asset);
      fetching = fetching.then(() => fetchAsset(asset, url));
    },
    async close(): Promise<void> {
      await fetching;
      await client.close();
    },
  };
}

/** Hashes the part named `file` of a multipart body without storing the part. */
function uploadHash(headers: IncomingHttpHeaders) {
  const parser = parserOf(headers);
  const parsing = parser && finished(parser).catch(() => undefined);
  let digest: string | null = null;
  parser?.on("file", (name: string, part: Readable) => {
    if (name !== "file" || digest !== null) return void part.resume();
    const hash = createHash("sha256");
    part.on("data", (chunk: Buffer) => hash.update(chunk));
    part.once("end", () => {
      digest ??= hash.digest("hex");
    });
    part.once("error", () => undefined);
  });
  return {
    add: (chunk: Uint8Array): void => void parser?.write(chunk),
    async digest(): Promise<string | null> {
      parser?.end();
      await parsing;
      return digest;
    },
  };
}

function parserOf(headers: IncomingHttpHeaders) {
  try {
    return new Busboy({ headers: { ...headers, "content-type": headers["content-type"]! } });
  } catch {
    return null;
  }
}

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly sha256: string | null;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly answer: string;
  readonly cut: boolean;
}

const MOST_TEXT = 10_000;

/** Returns the line to record for a response. Returns null if the response was cut short, unless it is a stream. */
export function lineOf(seen: Seen, cleaner: Cleaner): RecordedLine | null {
  const { method, path, status, sha256 } = seen;
  const { pathname, searchParams } = new URL(path, "http://base");
  const request = cleaner.text(requestLine(method, pathname, searchParams));
  const mark = sha256 === null ? null : uploadMark(sha256);
  const handle = mark === null ? null : learnUpload(seen, cleaner, mark);
  const body = mark ?? cleaner.request(seen.body);
  const response = responseOf(seen, cleaner);
  if (response === null) return null;
  const sent = { ...(body !== undefined && { body }), ...(handle !== null && { handle }) };
  return { request, ...sent, status, headers: cleaner.headers(seen.headers), ...response };
}

function responseOf(
  { headers, answer, cut }: Seen,
  cleaner: Cleaner,
): Pick<RecordedLine, "answer" | "text" | "events" | "cut"> | null {
  const isStream = String(headers["content-type"] ?? "").startsWith("text/event-stream");
  if (isStream) return { events: framesOf(answer, cleaner), ...(cut && { cut: true }) };
  if (cut) return null;
  if (answer === "") return {};
  const value = cleaner.answer(answer);
  // The text is cleaned before it is shortened, because half a secret would not be recognized.
  return value === undefined ? { text: cleaner.text(answer).slice(0, MOST_TEXT) } : { answer: value };
}

function framesOf(text: string, cleaner: Cleaner): RecordedFrame[] {
  const frames = text.replaceAll(/\r\n?/g, "\n").split("\n\n").slice(0, -1);
  return frames.flatMap((frame) => {
    const fields = new Map<string, string>();
    for (const [, name = "", value = ""] of frame.matchAll(/^(event|id|data|retry):? ?(.*)$/gm)) {
      fields.set(name, fields.has(name) ? `${fields.get(name)}\n${value}` : value);
    }
    if (fields.size === 0) return [];
    const cleaned = [...fields].map(([name, value]) => {
      return [name, (name === "data" ? cleaner.answer(value) : undefined) ?? cleaner.text(value)];
    });
    return [Object.fromEntries(cleaned)];
  });
}

function learnUpload({ status, answer }: Seen, cleaner: Cleaner, mark: string): string | null {
  if (status < 200 || status > 299) return null;
  const file = parsed(answer);
  return isRecord(file) && typeof file.url === "string" ? cleaner.learnUpload(file.url, mark) : null;
}

function outputsOf({ status, answer }: Seen): readonly { readonly asset: string; readonly url: string }[] {
  const job = status === 200 ? parsed(answer) : null;
  return (isRecord(job) && Array.isArray(job.outputs) ? job.outputs : []).flatMap((output: unknown) => {
    const isThere = isRecord(output) && typeof output.asset_id === "string" && typeof output.url === "string";
    return isThere ? [{ asset: output.asset_id as string, url: output.url as string }] : [];
  });
}
