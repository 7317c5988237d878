import { createHash } from "node:crypto";
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
import { isRecord, parsed } from "../json.ts";
import { Cleaner } from "./cleaner.ts";
import { RECORDED_MEDIA, RECORDED_PARTS, type RecordedFrame, requestLine, uploadMark } from "./recorded-values.ts";
import { type RecordedLine, RecordingError, RecordingFile } from "./recording-file.ts";

export interface RecorderOptions {
  readonly folder: string;
  readonly baseUrl: string;
  readonly port: number;
  /** Without media, a replay creates placeholders of the same kind, size and duration. */
  readonly keepMedia: boolean;
  readonly say: (text: string) => void;
}

export interface Recorder {
  /** The recorded program uses this URL instead of the service's base URL. */
  readonly baseUrl: string;
  readonly lines: number;
  close(): Promise<void>;
}

/** Larger bodies are forwarded but not recorded. */
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
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen({ port: options.port, host: "127.0.0.1" }, resolve);
    });
  } catch (cause) {
    await Promise.all([file.close(), forwarder.close(), media?.close()]);
    const why =
      (cause as NodeJS.ErrnoException).code === "EADDRINUSE" ? "is in use by another program" : "cannot be used";
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
  readonly media: MediaKeeper | null;
  readonly say: (text: string) => void;
}

class Recording {
  lines = 0;
  hosts: ReadonlySet<string> = new Set();
  readonly #base: { readonly href: string; readonly origin: string };
  readonly #parts: Parts;
  readonly #cleaner: Cleaner;
  readonly #open = new Set<Promise<void>>();
  readonly #said = new Set<string>();

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
    const upload = isUpload ? new UploadHash(headers) : null;
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
    const came = new Gathered();
    answer.body.on("data", (chunk: Buffer) => came.add(chunk));
    const isWhole = await pipeline(answer.body, outgoing).then(
      () => true,
      () => false,
    );
    // The caller disconnected, so the service did not cut the answer.
    if (!isWhole && answer.body.errored?.name === "AbortError") return null;
    const [body, said] = [sent.text(), came.text()];
    if (body === null || said === null) {
      this.#say(`${method} ${this.#cleaner.text(path)} was not recorded: a body exceeds ${MOST_BYTES} bytes.`);
      return null;
    }
    const { statusCode: status } = answer;
    return {
      method,
      path,
      body,
      sha256: (await upload?.digest()) ?? null,
      status,
      headers: answer.headers,
      answer: said,
      cut: !isWhole,
    };
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
    if (this.#said.has(text) || this.#said.size > 1000) return;
    this.#said.add(text);
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

interface MediaKeeper {
  keep(asset: string, url: string): void;
  close(): Promise<void>;
}

function openMediaKeeper(
  folder: string,
  baseUrl: string,
  file: RecordingFile,
  say: (text: string) => void,
): MediaKeeper {
  const client = createClient({ baseUrl, apiKey: null });
  const media = join(folder, RECORDED_MEDIA);
  const asked = new Set<string>();
  let fetching: Promise<void> = Promise.resolve();

  async function fetchOne(asset: string, url: string): Promise<void> {
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
    keep(named, url) {
      const asset = cleanId(named);
      if (asset === null || asked.has(asset) || file.hasAsset(asset)) return;
      asked.add(asset);
      fetching = fetching.then(() => fetchOne(asset, url));
    },
    async close() {
      await fetching;
      await client.close();
    },
  };
}

/** Hashes the part named `file` of a multipart body without storing the part. */
class UploadHash {
  readonly #parser: InstanceType<typeof Busboy> | null;
  readonly #over: Promise<unknown>;
  #digest: string | null = null;

  constructor(headers: IncomingHttpHeaders) {
    this.#parser = parserOf(headers);
    this.#over = this.#parser === null ? Promise.resolve() : finished(this.#parser).catch(() => undefined);
    this.#parser?.on("file", (name: string, part: Readable) => {
      if (name !== "file" || this.#digest !== null) return void part.resume();
      const hash = createHash("sha256");
      part.on("data", (chunk: Buffer) => hash.update(chunk));
      part.once("end", () => {
        this.#digest ??= hash.digest("hex");
      });
      part.once("error", () => undefined);
    });
  }

  add(chunk: Uint8Array): void {
    this.#parser?.write(chunk);
  }

  async digest(): Promise<string | null> {
    this.#parser?.end();
    await this.#over;
    return this.#digest;
  }
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

/** Returns null if a response other than a stream was cut short. */
export function lineOf(seen: Seen, cleaner: Cleaner): RecordedLine | null {
  const { method, path, status, sha256 } = seen;
  const { pathname, searchParams } = new URL(path, "http://base");
  const request = cleaner.text(requestLine(method, pathname, searchParams));
  const mark = sha256 === null ? null : uploadMark(sha256);
  const handle = mark === null ? null : learnUpload(seen, cleaner, mark);
  const body = mark ?? cleaner.request(seen.body);
  const said = answerOf(seen, cleaner);
  if (said === null) return null;
  const sent = { ...(body !== undefined && { body }), ...(handle !== null && { handle }) };
  return { request, ...sent, status, headers: cleaner.headers(seen.headers), ...said };
}

function answerOf(
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
    const data = fields.get("data");
    if (fields.size === 0) return [];
    const [event, id, retry] = ["event", "id", "retry"].map((name) => fields.get(name));
    return [
      {
        ...(event !== undefined && { event: cleaner.text(event) }),
        ...(id !== undefined && { id: cleaner.text(id) }),
        ...(retry !== undefined && { retry: cleaner.text(retry) }),
        ...(data !== undefined && { data: cleaner.answer(data) ?? cleaner.text(data) }),
      },
    ];
  });
}

function learnUpload({ status, answer }: Seen, cleaner: Cleaner, mark: string): string | null {
  if (status < 200 || status > 299) return null;
  const said = parsed(answer);
  return isRecord(said) && typeof said.url === "string" ? cleaner.learnUpload(said.url, mark) : null;
}

function outputsOf({ status, answer }: Seen): readonly { readonly asset: string; readonly url: string }[] {
  const said = status === 200 ? parsed(answer) : null;
  return (isRecord(said) && Array.isArray(said.outputs) ? said.outputs : []).flatMap((output: unknown) => {
    const isThere = isRecord(output) && typeof output.asset_id === "string" && typeof output.url === "string";
    return isThere ? [{ asset: output.asset_id as string, url: output.url as string }] : [];
  });
}
