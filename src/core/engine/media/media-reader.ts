import { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { BoundedMap } from "../../api/bounded-map.ts";
import type { FileKind } from "../../plan/plan.ts";

export interface MediaFacts {
  readonly contentType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  readonly fps: number | null;
}

export type StatedFacts = { readonly [fact in keyof Omit<MediaFacts, "fps">]: MediaFacts[fact] | null };

export interface MediaQuestions {
  readonly facts: {
    readonly asks: { readonly path: string; readonly kind: FileKind | null };
    readonly answer: MediaFacts;
  };
  readonly damage: {
    readonly asks: { readonly path: string; readonly stated: StatedFacts };
    readonly answer: string | null;
  };
}

type Name = keyof MediaQuestions;
export type Question = { [N in Name]: { readonly name: N } & MediaQuestions[N]["asks"] }[Name];
/**
 * What is wrong with a media file. `isUnread`: reading did not finish. `isEmpty`: the file has no image, video or
 * audio.
 */
export interface Fault {
  readonly fault: string;
  readonly isUnread?: true;
  readonly isEmpty?: true;
}

export type Answered<N extends Name = Name> = { readonly is: MediaQuestions[N]["answer"] } | Fault;
export type Reply = { readonly type: "reading" } | { readonly type: "read"; readonly answer: Answered };

export interface ReaderLimits {
  /** Base time limit for reading one file, in milliseconds, excluding worker startup. Larger files get more time. */
  readonly deadlineMs: number;
  readonly memoryMb: number;
  /**
   * Maximum time to spend on the unreadable files of one run or caller per {@link WASTE_WINDOW_MS}, in milliseconds.
   */
  readonly wasteMs: number;
}

interface Waiting {
  readonly question: Question;
  readonly sizeBytes: number;
  readonly owner: string;
  readonly answer: (answered: Answered) => void;
}

/** Number of worker threads. A single run or caller never uses all of them, so others do not have to wait. */
const THREADS = 2;
const WASTE_WINDOW_MS = 10 * 60_000;
const MOST_REMEMBERED = 1_000;
/** Maximum size, in bytes, of a file whose results are cached by content hash. */
const HASHED_BYTES = 64 * 1024;

const NOT_READ: Fault = {
  fault: "it was not read, because reading failed for too many other files recently; try again later",
  isUnread: true,
};

/** Who a file is read for: a run or a caller of the server. */
type Owner = `${"caller" | "run"} ${string}`;

const owners = new AsyncLocalStorage<Owner>();

/** Runs `work`. The files that it reads are attributed to `owner`, unless an enclosing call already set an owner. */
export function readingFor<T>(owner: Owner, work: () => T): T {
  return owners.getStore() === undefined ? owners.run(owner, work) : work();
}

/** Reads untrusted media on worker threads, and limits the time spent on each owner's unreadable files. */
export class MediaReader {
  readonly #limits: ReaderLimits;
  readonly #threads: readonly ReadingThread[];
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #waste = new BoundedMap<string, { readonly ms: number; readonly since: number }>(MOST_REMEMBERED);
  readonly #answers = new BoundedMap<string, Promise<Answered>>(MOST_REMEMBERED);

  constructor(limits: Partial<ReaderLimits> = {}) {
    this.#limits = { deadlineMs: 5_000, memoryMb: 256, wasteMs: 30_000, ...limits };
    this.#threads = Array.from({ length: THREADS }, () => new ReadingThread(this.#limits));
  }

  async ask<N extends Name>(question: Question & { readonly name: N }): Promise<Answered<N>> {
    const { path, ...asked } = question;
    const { size, isSmall } = await sizeOf(path);
    const bytes = isSmall ? await readFile(path).catch(() => null) : null;
    if (bytes === null) return (await this.#read(question, size)) as Answered<N>;
    const key = `${JSON.stringify(asked)} ${hash("sha256", bytes)}`;
    const known = this.#answers.get(key) ?? this.#read(question, size);
    this.#answers.set(key, known);
    const answered = await known;
    // Do not cache this answer. The limit applies only to this owner, but another owner may have the same bytes.
    if (answered === NOT_READ) this.#answers.delete(key);
    // A later try may succeed, when the machine is less busy.
    else if ("isUnread" in answered) setTimeout(() => this.#answers.delete(key), WASTE_WINDOW_MS).unref();
    return answered as Answered<N>;
  }

  #read(question: Question, sizeBytes: number): Promise<Answered> {
    const owner = owners.getStore() ?? "";
    if (this.#isWasteful(owner)) return Promise.resolve(NOT_READ);
    return new Promise((answer) => {
      const waiting = this.#waiting.get(owner) ?? [];
      waiting.push({ question, sizeBytes, owner, answer });
      this.#waiting.set(owner, waiting);
      this.#next();
    });
  }

  #next(): void {
    for (const thread of this.#threads) {
      if (thread.owner !== null) continue;
      const next = this.#takeTurn();
      if (next === null) break;
      void this.#serve(thread, next);
    }
    const isForCaller = this.#threads.some(({ owner }) => owner?.startsWith("caller "));
    if (isForCaller) for (const thread of this.#threads) thread.warm();
  }

  #takeTurn(): Waiting | null {
    const busy = this.#threads.flatMap(({ owner }) => owner ?? []);
    for (const [owner, [first, ...rest]] of this.#waiting) {
      if (busy.filter((other) => other === owner).length >= THREADS - 1) continue;
      this.#waiting.delete(owner);
      if (rest.length > 0) this.#waiting.set(owner, rest);
      return first!;
    }
    return null;
  }

  async #serve(thread: ReadingThread, { question, sizeBytes, owner, answer }: Waiting): Promise<void> {
    const { answered, tookMs } = await thread.read(question, sizeBytes, owner);
    if ("isUnread" in answered) {
      const { ms, since } = this.#wasteOf(owner);
      this.#waste.set(owner, { ms: ms + tookMs, since });
      if (this.#isWasteful(owner)) this.#refuseWaiting(owner);
    }
    answer(answered);
    this.#next();
  }

  #refuseWaiting(owner: string): void {
    const waiting = this.#waiting.get(owner) ?? [];
    this.#waiting.delete(owner);
    for (const { answer } of waiting) answer(NOT_READ);
  }

  #isWasteful(owner: string): boolean {
    return this.#wasteOf(owner).ms >= this.#limits.wasteMs;
  }

  #wasteOf(owner: string): { readonly ms: number; readonly since: number } {
    const now = performance.now();
    const waste = this.#waste.get(owner);
    return waste === undefined || now - waste.since > WASTE_WINDOW_MS ? { ms: 0, since: now } : waste;
  }
}

async function sizeOf(path: string): Promise<{ readonly size: number; readonly isSmall: boolean }> {
  const found = await stat(path).catch(() => null);
  const size = found?.size ?? 0;
  return { size, isSmall: found?.isFile() === true && size <= HASHED_BYTES };
}

const BYTES_PER_MS = 10_000;
const START_MS = 60_000;

/** Reads files on a worker thread, one at a time. Replaces the thread if a file exceeds the time or memory limit. */
class ReadingThread {
  readonly #limits: ReaderLimits;
  #thread: Worker | null = null;
  #answer: ((answered: Answered) => void) | null = null;
  #sizeBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  owner: string | null = null;

  constructor(limits: ReaderLimits) {
    this.#limits = limits;
  }

  async read(
    question: Question,
    sizeBytes: number,
    owner: string,
  ): Promise<{ readonly answered: Answered; readonly tookMs: number }> {
    const startedAt = performance.now();
    this.owner = owner;
    this.#sizeBytes = sizeBytes;
    const answered = await new Promise<Answered>((resolve) => {
      this.#answer = resolve;
      this.#thread ??= this.#start();
      this.#thread.ref();
      this.#thread.postMessage(question);
      this.#limit(START_MS);
    });
    this.owner = null;
    return { answered, tookMs: performance.now() - startedAt };
  }

  warm(): void {
    if (this.#thread !== null) return;
    this.#thread = this.#start();
    this.#thread.postMessage("load");
    this.#thread.unref();
  }

  #start(): Worker {
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const thread = new Worker(new URL(`./media-thread.${extension}`, import.meta.url), {
      execArgv: ["--disable-warning=ExperimentalWarning"],
      name: "media",
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memoryMb, maxYoungGenerationSizeMb: 32 },
      // Discard what libraries print about untrusted files.
      stdout: true,
      stderr: true,
    });
    thread.on("message", (reply: Reply) => this.#onMessage(thread, reply));
    thread.on("error", (error) => this.#end(thread, `it cannot be read (${error.message})`));
    thread.on("exit", () => this.#end(thread, "it cannot be read (the reader crashed)"));
    return thread;
  }

  #onMessage(thread: Worker, reply: Reply): void {
    if (thread !== this.#thread) return;
    if (reply.type === "read") this.#settle(reply.answer);
    else this.#limit(this.#limits.deadlineMs + this.#sizeBytes / BYTES_PER_MS);
  }

  #limit(delayMs: number): void {
    clearTimeout(this.#timer);
    const thread = this.#thread!;
    const limitMs = Math.round(delayMs);
    this.#timer = setTimeout(() => this.#end(thread, `it could not be read within ${limitMs} ms`), limitMs);
  }

  #end(thread: Worker, fault: string): void {
    if (thread !== this.#thread) return;
    this.#thread = null;
    void thread.terminate();
    this.#settle({ fault, isUnread: true });
  }

  #settle(answered: Answered): void {
    clearTimeout(this.#timer);
    this.#thread?.unref();
    this.#answer?.(answered);
    this.#answer = null;
  }
}

export const mediaReader = new MediaReader();

/**
 * Returns facts about a media file, or a fault if the file is not of `kind` or could not be read. If `kind` is null,
 * any kind is accepted.
 */
export async function measureMedia(path: string, kind: FileKind | null): Promise<MediaFacts | Fault> {
  const answered = await mediaReader.ask({ name: "facts", path, kind });
  return "is" in answered ? answered.is : answered;
}

/** Returns what is wrong with a downloaded output; null if nothing is wrong or if the file could not be read. */
export async function damageOf(path: string, stated: StatedFacts): Promise<string | null> {
  const answered = await mediaReader.ask({ name: "damage", path, stated });
  return "is" in answered ? answered.is : null;
}
