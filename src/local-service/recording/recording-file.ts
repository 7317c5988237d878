import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ShowrunnerError } from "../../core/kit/errors.ts";
import { open } from "../../core/kit/files.ts";
import { type FolderLock, holderOf, lockFolder } from "../../core/kit/folder-lock.ts";
import { parsed } from "../json.ts";
import { RECORDING_FILE, RECORDING_VERSION, type RecordedAnswer, type RecordedAsset } from "./recorded-values.ts";

/** A recording's folder or port cannot be used. */
export class RecordingError extends ShowrunnerError {
  readonly code = "RECORDING_UNUSABLE";
  /** The command to run next, or null for the error code's default command. */
  readonly next: string | null;

  constructor(message: string, { next, ...options }: { readonly next?: string; readonly cause?: unknown } = {}) {
    super(message, options);
    this.next = next ?? null;
  }
}

export type RecordedLine = Omit<RecordedAnswer, "at_ms">;

/** Fields that are ignored when two responses are compared, because they change with each poll. */
const VOLATILE = new Set(["progress", "estimated_completion_at", "logs", "logs_next_cursor", "trace_id"]);
const MOST_BYTES = 256 * 1024 * 1024;

const LOCK = "recorder";

interface Opened {
  readonly file: FileHandle;
  readonly lock: FolderLock;
  readonly path: string;
}

/** The file to which a recording is written. Only one process at a time can open it. */
export class RecordingFile {
  readonly #file: FileHandle;
  readonly #lock: FolderLock;
  readonly #startedAt: number;
  #sizeBytes: number;
  /** The last response to each request. An identical response is not written again. */
  readonly #last = new Map<string, string>();
  readonly #assets = new Set<string>();
  readonly #jobs = new Set<string>();
  readonly #uploads = new Map<string, string>();
  #writing: Promise<void> = Promise.resolve();
  #failure: unknown = null;

  private constructor(file: FileHandle, lock: FolderLock, startedAt: number, sizeBytes: number) {
    this.#file = file;
    this.#lock = lock;
    this.#startedAt = startedAt;
    this.#sizeBytes = sizeBytes;
  }

  static async open(folder: string, service: string, now: number): Promise<RecordingFile> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, RECORDING_FILE);
    const lock = lockedFor(folder);
    let file: FileHandle | undefined;
    try {
      lock.announce({});
      const found = await lstat(path).catch(() => null);
      if (found !== null && !found.isFile())
        throw new RecordingError(`${path} exists but is not a regular file; use another folder.`);
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0);
      file = await open(path, flags, 0o600);
      return await RecordingFile.#resume({ file, lock, path }, service, now);
    } catch (error) {
      await file?.close();
      lock.release();
      throw error;
    }
  }

  static async #resume({ file, lock, path }: Opened, service: string, now: number): Promise<RecordingFile> {
    const { size } = await file.stat();
    if (size > MOST_BYTES) throw new RecordingError(`${path} is larger than ${MOST_BYTES} bytes; use another folder.`);
    const bytes = await file.readFile();
    // A killed process may have left an incomplete line.
    const whole = bytes.lastIndexOf(10) + 1;
    if (whole < bytes.length) await file.truncate(whole);
    const [first, ...lines] = bytes.subarray(0, whole).toString("utf8").split("\n");
    if (first === undefined || first === "") {
      const recording = new RecordingFile(file, lock, now, 0);
      await recording.#append({ recording: RECORDING_VERSION, service, started_at: new Date(now).toISOString() });
      return recording;
    }
    const head = (parsed(first) ?? {}) as { recording?: unknown; service?: unknown; started_at?: string };
    if (head.recording !== RECORDING_VERSION)
      throw new RecordingError(`${path} is not a version ${RECORDING_VERSION} recording; use another folder.`);
    const found = String(head.service);
    if (found !== service)
      throw new RecordingError(`${path} is a recording of ${found}, not of ${service}; use another folder.`);
    const recording = new RecordingFile(file, lock, Date.parse(head.started_at ?? "") || now, whole);
    for (const line of lines) if (line !== "") recording.#remember(parsed(line));
    return recording;
  }

  async add(line: RecordedLine, now: number): Promise<boolean> {
    if (this.#isKnown(line)) return false;
    this.#remember(line);
    await this.#append({ at_ms: Math.max(0, now - this.#startedAt), ...line });
    return true;
  }

  async addAsset(asset: RecordedAsset): Promise<void> {
    this.#remember(asset);
    await this.#append(asset);
  }

  hasAsset(assetId: string): boolean {
    return this.#assets.has(assetId);
  }

  get uploads(): ReadonlyMap<string, string> {
    return this.#uploads;
  }

  async close(): Promise<void> {
    await this.#writing;
    try {
      await this.#file.sync();
    } finally {
      await this.#file.close();
      this.#lock.release();
    }
  }

  #isKnown(line: RecordedLine): boolean {
    const job = submittedJob(line);
    return job === null ? this.#last.get(requestKey(line)) === answerKey(line) : this.#jobs.has(job);
  }

  #remember(line: unknown): void {
    const { asset, request } = (line ?? {}) as Partial<RecordedAsset & RecordedLine>;
    if (typeof asset === "string") this.#assets.add(asset);
    if (typeof request !== "string") return;
    const recorded = line as RecordedLine;
    const job = submittedJob(recorded);
    this.#last.set(requestKey(recorded), answerKey(recorded));
    if (job !== null) this.#jobs.add(job);
    const { handle, body } = recorded;
    if (typeof handle === "string" && typeof body === "string") this.#uploads.set(handle, body);
  }

  /** Appends a line once all earlier lines are written, so that only the last line can be incomplete after a crash. */
  #append(line: object): Promise<void> {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    this.#sizeBytes += bytes.length;
    const write = async () => {
      if (this.#failure !== null) throw this.#failure;
      if (this.#sizeBytes > MOST_BYTES)
        throw new RecordingError(`The recording reached its limit of ${MOST_BYTES} bytes; use another folder.`);
      await this.#file.appendFile(bytes);
    };
    const done = this.#writing.then(write);
    this.#writing = done.catch((error) => {
      this.#failure = error;
    });
    return done;
  }
}

function lockedFor(folder: string): FolderLock {
  let lock: FolderLock | null;
  try {
    lock = lockFolder(folder, LOCK);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new RecordingError(`Cannot record to ${folder} (${why}); use another folder.`, { cause });
  }
  if (lock !== null) return lock;
  const holder = holderOf(folder, LOCK);
  const who = holder === null ? "Another process" : `Process ${holder.pid}`;
  throw new RecordingError(`${who} is recording to ${folder}; stop that process, or use another folder.`);
}

function submittedJob({ request, status, answer }: RecordedLine): string | null {
  if (status !== 202 || !/^POST \/models\/[^/]+$/.test(request)) return null;
  const job = (answer as { readonly job_id?: unknown } | null)?.job_id;
  return typeof job === "string" ? job : null;
}

const requestKey = ({ request, body }: RecordedLine) => `${request}\n${JSON.stringify(body ?? null)}`;

function answerKey({ status, handle, answer, text, events, cut }: RecordedLine): string {
  const stable = JSON.stringify(answer ?? null, (name, value: unknown) => (VOLATILE.has(name) ? undefined : value));
  return JSON.stringify([status, handle, stable, text, events, cut]);
}
