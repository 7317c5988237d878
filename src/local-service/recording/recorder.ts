import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parseBaseUrl } from "../../core/api/base-url.ts";
import { createForwarder, type Forwarder } from "../../core/network/index.ts";
import { Cleaner } from "./cleaner.ts";
import { type MediaKeeper, openMediaKeeper } from "./media-keeper.ts";
import { isRecorded, lineOf, outputsOf, type Seen } from "./record-exchange.ts";
import { RecordingError } from "./recording-error.ts";
import { RecordingFile } from "./recording-file.ts";
import { UploadHash } from "./upload-hash.ts";

export interface RecorderOptions {
  /** Where the recording is; created when missing, else continued. */
  readonly folder: string;
  /** The service that is recorded, such as `https://host/v3`. */
  readonly baseUrl: string;
  /** On loopback; 0 takes a free one. */
  readonly port: number;
  /** Fetches outputs and keeps them by hash; without, a replay makes placeholders of their kind, size and length. */
  readonly keepMedia: boolean;
  /** Gets a line for what cannot be recorded; the program that is recorded continues. */
  readonly say: (text: string) => void;
}

export interface Recorder {
  /** In place of the service's own. */
  readonly baseUrl: string;
  /** Answers that were written. */
  readonly lines: number;
  close(): Promise<void>;
}

/** Most that is kept of a body to be recorded; longer ones pass on, unrecorded. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Of one connection, and named by it; not for the next one. */
const HOP_BY_HOP = new Set(
  "connection keep-alive proxy-connection te trailer transfer-encoding upgrade expect host accept-encoding".split(" "),
);

/**
 * Stands on loopback before a service: passes every request on as it came, with the caller's own credential, and writes down
 * what was answered. It holds no credential and records none. @throws RecordingError
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
    throw new RecordingError(`Port ${options.port} on 127.0.0.1 ${why}; 0 takes any free one.`, { cause });
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
      this.#say(`${incoming.method} could not be passed on: ${this.#cleaner.text(error.message)}`);
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
      outgoing.end(`This records ${this.#base.href}, and nothing else is here.\n`);
      return;
    }
    this.#cleaner.learnRequest(incoming.headers);
    const path = (target.pathname + target.search).slice(this.#base.href.length - this.#base.origin.length);
    const seen = await this.#pass(incoming, outgoing, target, path);
    if (seen !== null && isRecorded(path)) await this.#record(seen);
  }

  /** Where the request goes; null for another host's name, and for what is not below the base. */
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
    const upload = isUpload ? new UploadHash(headers["content-type"]!) : null;
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
    // What the caller left early is not what the service cut.
    if (!isWhole && answer.body.errored?.name === "AbortError") return null;
    const [body, said] = [sent.text(), came.text()];
    if (body === null || said === null) {
      this.#say(`${method} ${this.#cleaner.text(path)}: larger than ${MOST_BYTES} bytes, not recorded.`);
      return null;
    }
    const { statusCode: status } = answer;
    return {
      method,
      path,
      body,
      sha256: upload?.digest() ?? null,
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
      this.#say(`Not recorded any more: ${this.#cleaner.text((error as Error).message)}`);
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

/** Bytes as they pass, up to what may be recorded. */
class Gathered {
  #chunks: Buffer[] | null = [];
  #sizeBytes = 0;

  add(chunk: Buffer): void {
    this.#sizeBytes += chunk.length;
    if (this.#sizeBytes > MOST_BYTES) this.#chunks = null;
    this.#chunks?.push(chunk);
  }

  /** Null when there was more. */
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
