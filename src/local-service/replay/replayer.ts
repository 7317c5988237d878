import { createHash } from "node:crypto";
import { closeSync, createReadStream, createWriteStream, fstatSync, openSync, readSync } from "node:fs";
import { mkdir, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type Answer, type Call, type Endpoint, noContent, ok } from "../http/call.ts";
import type { Interceptor } from "../http/kernel.ts";
import { refuse } from "../http/refusal.ts";
import { keyInUse } from "../jobs/submit.ts";
import { isRecord } from "../json.ts";
import type { Served } from "../media/download.ts";
import type { NormalOptions } from "../options.ts";
import {
  mapTexts,
  OUTPUT_URL,
  RECORDED_MEDIA,
  RECORDED_PARTS,
  type RecordedAnswer,
  type RecordedAsset,
  type RecordedFrame,
  requestLine,
  uploadMark,
} from "../recording/recorded-values.ts";
import { type Placeholder, writePlaceholder } from "../render/placeholder.ts";
import type { ServiceContext } from "../service-context.ts";
import { STREAM_HEADERS } from "../stream/open-streams.ts";
import { openPlainFile, type Recording } from "./recording.ts";
import { ReplayBook, type ReplayedJob, recordedId } from "./replay-book.ts";

export function openReplay(service: ServiceContext) {
  const { replay } = service.options;
  if (replay === null) return null;
  const media = createReplayedMedia(replay.recording, service);
  return { answer: new Replayer(replay, service, media).answer, file: media.file };
}

export function withReplay(faults: Interceptor, replay: ReturnType<typeof openReplay>): Interceptor {
  if (replay === null) return faults;
  return {
    before: async (endpoint, call) => (await faults.before(endpoint, call)) ?? replay.answer(endpoint, call),
    after: faults.after,
  };
}

/** Answers requests with the responses of a recording. Leaves uploads, keys and webhooks to the local service. */
class Replayer {
  readonly #replay: NonNullable<NormalOptions["replay"]>;
  readonly #service: ServiceContext;
  readonly #media: ReplayedMedia;
  readonly #book: ReplayBook;
  readonly #hashOfUpload: (url: string) => string | null;
  readonly #keys = new Map<string, { readonly model: string; readonly ack: Answer & { readonly is: "json" } }>();

  constructor(replay: NonNullable<NormalOptions["replay"]>, service: ServiceContext, media: ReplayedMedia) {
    this.#replay = replay;
    this.#service = service;
    this.#media = media;
    this.#book = new ReplayBook(replay.recording);
    this.#hashOfUpload = createUploadHashes(service);
  }

  /**
   * Answers a request with a recorded response. Returns null if the local service must handle the request.
   * @throws Refusal if no response is recorded
   */
  readonly answer = async ({ method, path }: Endpoint, call: Call): Promise<Answer | null> => {
    if (!RECORDED_PARTS.has(path.split("/", 2)[1] ?? "") || path === "/files") return null;
    const { pathname, searchParams } = new URL(call.incoming.url ?? "/", "http://base");
    const below = pathname.slice("/v3".length);
    const request = requestLine(call.method, below, searchParams);
    const body = method === "POST" ? this.#inRecordedWords(await call.json()) : undefined;
    if (path.startsWith("/jobs/{job_id}")) return this.#ofJob(request, below, call);
    if (method === "POST" && path === "/models/{model}") return this.#submit(request, body, call);
    const answer = this.#book.next(request, body);
    return answer === null ? this.#notRecorded(request, body) : this.#given(answer, null, call);
  };

  async #ofJob(request: string, below: string, call: Call): Promise<Answer | null> {
    const now = this.#service.clock.now();
    const job = this.#book.job(call.param("job_id"), now);
    if (job === null) return this.#notRecorded(request, undefined);
    const part = below.split("/")[3] ?? "";
    const { speed } = this.#replay;
    const isSame = (answer: RecordedAnswer) => partOf(answer) === part && answer.request.startsWith(`${call.method} `);
    const isRead = call.method === "GET" && (part === "status" || part === "");
    if (isRead && speed === "real" && job.isEarly((answer) => isSame(answer) || statusAnswer(answer) !== null, now))
      return this.#asSubmitted(job, part);
    if (isRead && job.isCutOff(speed, now)) throw this.#cutOff(request, job);
    const isOpen = part === "stream" && speed === "real";
    const answer = isOpen ? job.openStream(isSame, now) : job.next(isSame, speed, now);
    if (answer !== null) return this.#given(answer, job, call);
    // A job that was recorded with a stream may be polled, and vice versa.
    if (call.method === "GET" && part === "status") {
      const status = job.next((answer) => statusAnswer(answer) !== null, speed, now);
      if (status !== null) return this.#given(statusAnswer(status)!, job, call);
    }
    const stream = call.method === "GET" && part === "stream" ? streamAnswer(job.recorded.answers) : null;
    return stream === null ? this.#notRecorded(request, undefined) : this.#given(stream, job, call);
  }

  #asSubmitted({ jobId }: ReplayedJob, part: string): Answer {
    const more = part === "status" ? { progress: null, estimated_completion_at: null } : { outputs: [], error: null };
    return ok({ job_id: jobId, status: "IN_QUEUE", ...more });
  }

  /** Returns the error for a job whose end was not recorded. Without this error, clients would poll the job forever. */
  #cutOff(request: string, { jobId }: ReplayedJob) {
    this.#service.metrics.unrecorded(request);
    return refuse(
      "GONE",
      `The recording ${this.#where()} stops before job ${jobId} ends. Record the entire run: showrunner record ${this.#replay.recording.folder}.`,
    );
  }

  async #submit(request: string, body: unknown, call: Call): Promise<Answer | null> {
    const model = call.param("model");
    const sent: unknown = await call.json();
    const given = isRecord(sent) && typeof sent.idempotency_key === "string" ? sent.idempotency_key : null;
    const key = given === null ? null : `${call.principal.workspaceId}\n${given}`;
    const known = key === null ? undefined : this.#keys.get(key);
    if (known !== undefined) {
      if (known.model !== model) throw keyInUse(known.model);
      this.#service.metrics.replayed();
      return { ...known.ack, headers: { ...known.ack.headers, "X-Idempotent-Replayed": "true" } };
    }
    const found = this.#book.submit(request, body, this.#service.clock.now());
    if (found === null) return this.#notRecorded(request, body);
    const answer = await this.#given(found.answer, found.job, call);
    if (key !== null && found.job !== null && answer.is === "json") this.#keys.set(key, { model, ack: answer });
    return answer;
  }

  #inRecordedWords(body: unknown): unknown {
    const marked = mapTexts(body, (text) => {
      const sha256 = this.#hashOfUpload(text);
      return sha256 === null ? text : uploadMark(sha256);
    });
    return this.#book.inRecordedIds(marked);
  }

  async #given(recorded: RecordedAnswer, job: ReplayedJob | null, call: Call): Promise<Answer> {
    const { status, events, text } = recorded;
    const personal = (value: unknown) => this.#withUrls(job === null ? value : job.personal(value));
    const dueAt = job !== null && this.#replay.speed === "real" ? job.dueAt(recorded) : 0;
    if (events !== undefined) return sendRecordedStream(recorded, personal, call, { ...this.#service, dueAt });
    if (status === 204 || status === 205 || status === 304 || call.method === "HEAD") return { ...noContent, status };
    const headers = this.#headersOf(recorded, personal);
    if (recorded.answer === undefined) return { is: "text", status, body: text ?? "", headers };
    const { "content-type": _type, ...more } = headers;
    return { is: "json", status, body: this.#atOnce(personal(recorded.answer)), headers: more };
  }

  #headersOf({ headers }: RecordedAnswer, personal: (value: unknown) => unknown): Record<string, string> {
    // `#submit` sets `x-idempotent-replayed` itself.
    const { "retry-after": wait, location, "x-idempotent-replayed": _replayed, ...own } = headers;
    return {
      ...own,
      ...(location !== undefined && { location: String(personal(location)) }),
      ...(wait !== undefined && { "retry-after": this.#replay.speed === "real" ? wait : "0" }),
    };
  }

  #atOnce(answer: unknown): unknown {
    if (this.#replay.speed === "real" || !isRecord(answer) || !isRecord(answer.error)) return answer;
    if (answer.error.retry_after === undefined) return answer;
    return { ...answer, error: { ...answer.error, retry_after: 0 } };
  }

  #withUrls(value: unknown): unknown {
    if (!isRecord(value) || !Array.isArray(value.outputs)) return value;
    const outputs = value.outputs.map((output: unknown) =>
      isRecord(output) && output.url === OUTPUT_URL ? { ...output, url: this.#media.urlOf(output) } : output,
    );
    return { ...value, outputs };
  }

  #notRecorded(request: string, body: unknown): null {
    if (this.#replay.orLocal) return null;
    const differs = this.#book.nearest(request, body);
    const how = differs.length === 0 ? "" : `; the most similar recorded request differs in ${differs.join(", ")}`;
    this.#service.metrics.unrecorded(`${request}${how}`);
    throw refuse(
      "NOT_FOUND",
      `${request} is not in the recording ${this.#where()}${how}. Record it: showrunner record ${this.#replay.recording.folder}, or replay with --or-local.`,
    );
  }

  #where(): string {
    const { folder, service, tornLine } = this.#replay.recording;
    return `${folder} of ${service}${tornLine === null ? "" : ` (its last line, ${tornLine}, is cut off)`}`;
  }
}

function partOf({ request }: RecordedAnswer): string {
  return request.split(" ", 2)[1]!.split("?", 1)[0]!.split("/")[3] ?? "";
}

const CHUNK_BYTES = 1024 * 1024;

function createUploadHashes({ store, dataDir, origin }: ServiceContext): (url: string) => string | null {
  const known = new Map<string, string>();
  return (url) => {
    const prefix = `${origin()}/uploads/`;
    if (!url.startsWith(prefix)) return null;
    const fileId = url.slice(prefix.length).split("?", 1)[0]!;
    const file = store.files.get(fileId);
    if (file?.url !== url) return null;
    const hash = known.get(fileId) ?? hashOf(dataDir.absolute(file.path));
    known.set(fileId, hash);
    return hash;
  };
}

function hashOf(path: string): string {
  const hash = createHash("sha256");
  const file = openSync(path, "r");
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) hash.update(chunk.subarray(0, read));
  } finally {
    closeSync(file);
  }
  return hash.digest("hex");
}

function sendRecordedStream(
  { status, events, cut }: RecordedAnswer,
  personal: (value: unknown) => unknown,
  { outgoing, standardHeaders }: Call,
  { clock, streams, dueAt }: Pick<ServiceContext, "clock" | "streams"> & { readonly dueAt: number },
): Answer {
  const text = (events ?? []).map((frame) => frameText(frame, personal)).join("");
  outgoing.writeHead(status, { ...standardHeaders, ...STREAM_HEADERS });
  const send = () => void (cut ? outgoing.write(text, () => outgoing.destroy()) : outgoing.end(text));
  if (dueAt <= clock.now()) send();
  else {
    outgoing.flushHeaders();
    const stopWaiting = () => {
      leave();
      cancel();
    };
    const leave = streams.add({
      keepAlive: (comment) => void outgoing.write(comment),
      shutDown: () => {
        stopWaiting();
        outgoing.end();
      },
    });
    const cancel = clock.at(dueAt, () => {
      leave();
      send();
    });
    outgoing.once("close", stopWaiting);
  }
  return { is: "sent", status };
}

function frameText({ event, id, retry, data }: RecordedFrame, personal: (value: unknown) => unknown): string {
  const text = typeof data === "string" ? data : JSON.stringify(personal(data));
  const lines = [
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(retry === undefined ? [] : [`retry: ${retry}`]),
    ...(text === undefined ? [] : text.split(/\r\n|\r|\n/).map((line) => `data: ${line}`)),
  ];
  return `${lines.join("\n")}\n\n`;
}

function statusAnswer(recorded: RecordedAnswer): RecordedAnswer | null {
  const frames = recorded.events?.filter(({ event }) => event === "status") ?? [];
  const shown = recorded.status === 200 ? (frames.at(-1)?.data ?? recorded.answer) : null;
  if (!isRecord(shown) || typeof shown.status !== "string" || typeof shown.job_id !== "string") return null;
  const { job_id, status, progress = null, estimated_completion_at = null } = shown;
  return { ...recorded, events: undefined, headers: {}, answer: { job_id, status, progress, estimated_completion_at } };
}

function streamAnswer(answers: readonly RecordedAnswer[]): RecordedAnswer | null {
  const shown = answers.flatMap((answer) => statusAnswer(answer) ?? []);
  const last = shown.at(-1);
  if (last === undefined) return null;
  const frames = shown.map(({ answer }, index) => ({ event: "status", id: `${index}.1`, data: answer }));
  const end = { event: "done", data: "[STREAM_DONE]" };
  return { ...last, answer: undefined, events: [...frames, end], cut: undefined };
}

type ReplayedMedia = ReturnType<typeof createReplayedMedia>;

function createReplayedMedia(recording: Recording, { presigner, clock, dataDir, options }: ServiceContext) {
  const outputs = new Map<string, { readonly asset: RecordedAsset | undefined; readonly placeholder: Placeholder }>();
  const making = new Map<string, Promise<string>>();
  const folder = dataDir.absolute("replayed");

  function prepared(id: string, write: (path: string) => Promise<void>): Promise<string> {
    const path = join(folder, id);
    const known = making.get(id);
    if (known !== undefined) return known;
    const writing = (async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await write(`${path}.part`);
      await rename(`${path}.part`, path);
      return path;
    })();
    making.set(id, writing);
    writing.catch(() => making.delete(id));
    return writing;
  }

  return {
    urlOf(output: Readonly<Record<string, unknown>>): string {
      const named = typeof output.asset_id === "string" ? output.asset_id : "";
      // A repeated job has new ids, but the same bytes.
      const asset = recording.assets.get(named) ?? recording.assets.get(recordedId(named));
      const id = createHash("sha256")
        .update(JSON.stringify([named, output.content_type, output.width, output.height]))
        .digest("hex")
        .slice(0, 32);
      outputs.set(id, { asset, placeholder: placeholderOf(output, id) });
      return presigner.sign(`/replayed/${id}`, clock.now() + options.urlLifeMs);
    },
    async file(id: string): Promise<Served | null> {
      const output = outputs.get(id);
      if (output === undefined) return null;
      const { asset, placeholder } = output;
      const path = await (asset === undefined
        ? prepared(id, async (to) => writeFile(to, await writePlaceholder(placeholder), { mode: 0o600 }))
        : prepared(asset.sha256, (to) => copyChecked(join(recording.folder, RECORDED_MEDIA, asset.sha256), to, asset)));
      const { size, mtimeMs } = await stat(path);
      const contentType = (asset?.content_type ?? placeholder.contentType) || "application/octet-stream";
      return { path, contentType, sizeBytes: size, etag: `"${id}"`, modifiedAt: mtimeMs, cutAfter: () => null };
    },
  };
}

async function copyChecked(from: string, to: string, { sha256, size_bytes }: RecordedAsset): Promise<void> {
  const fd = openPlainFile(from);
  if (fstatSync(fd).size !== size_bytes) {
    closeSync(fd);
    throw new Error(`the size of ${from} differs from the recorded size`);
  }
  const hash = createHash("sha256");
  const bytes = createReadStream("", { fd });
  bytes.on("data", (chunk) => hash.update(chunk));
  await pipeline(bytes, createWriteStream(to, { mode: 0o600 }));
  if (hash.digest("hex") !== sha256) throw new Error(`the bytes of ${from} differ from the recorded bytes`);
}

function placeholderOf(output: Readonly<Record<string, unknown>>, mark: string): Placeholder {
  const { content_type, width, height, duration_ms } = output;
  const number = (value: unknown) => (typeof value === "number" && Number.isFinite(value) && value > 0 ? value : null);
  const contentType =
    typeof content_type === "string" && /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(content_type) ? content_type : "";
  return { contentType, width: number(width), height: number(height), durationMs: number(duration_ms), mark };
}
