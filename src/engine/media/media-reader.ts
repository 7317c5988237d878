import { Worker } from "node:worker_threads";
import type { FileKind } from "../../plan/plan.ts";

/** What a media file is, by its bytes. Pixels, milliseconds, frames a second. */
export interface MediaFacts {
  readonly contentType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  readonly fps: number | null;
}

/** What a service says of an output that it made. */
export type StatedFacts = { readonly [fact in keyof Omit<MediaFacts, "fps">]: MediaFacts[fact] | null };

/** What can be asked of a file, and the answer. */
export interface MediaQuestions {
  readonly type: { readonly asks: { readonly path: string }; readonly answer: string | null };
  readonly facts: { readonly asks: { readonly path: string; readonly kind: FileKind }; readonly answer: MediaFacts };
  /** Null for a file that is whole and what was stated. */
  readonly damage: {
    readonly asks: { readonly path: string; readonly stated: StatedFacts };
    readonly answer: string | null;
  };
}

type Name = keyof MediaQuestions;
export type Question = { [N in Name]: { readonly name: N } & MediaQuestions[N]["asks"] }[Name];
/** `isUnread`: the thread did not get through the file. */
export interface Fault {
  readonly fault: string;
  readonly isUnread?: true;
}

export type Answered<N extends Name = Name> = { readonly is: MediaQuestions[N]["answer"] } | Fault;
/** Of the thread: it begins to read, or it has read. */
export type Reply = { readonly type: "reading" } | { readonly type: "read"; readonly answer: Answered };

export interface ReaderLimits {
  /** For reading one file once the libraries are loaded, milliseconds; a large file gets more. */
  readonly deadlineMs: number;
  readonly memoryMb: number;
}

interface Waiting {
  readonly question: Question;
  readonly sizeBytes: number;
  readonly answer: (answered: Answered) => void;
}

/** A slow disk reads at least so much. */
const BYTES_PER_MS = 10_000;
/** For starting the thread and loading its libraries, on a machine with other things to do. */
const START_MS = 60_000;

/**
 * Reads foreign media in a worker thread, one file at a time: what its libraries cannot get through in time or in memory
 * ends the thread, and the next file gets a new one. It starts with the first file and keeps no process alive.
 */
export class MediaReader {
  readonly #limits: ReaderLimits;
  readonly #queue: Waiting[] = [];
  #thread: Worker | null = null;
  #current: Waiting | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: ReaderLimits = { deadlineMs: 5_000, memoryMb: 256 }) {
    this.#limits = limits;
  }

  ask<N extends Name>(question: Question & { readonly name: N }, sizeBytes: number): Promise<Answered<N>> {
    return new Promise((resolve) => {
      this.#queue.push({ question, sizeBytes, answer: resolve as (answered: Answered) => void });
      this.#next();
    });
  }

  #next(): void {
    if (this.#current !== null) return;
    this.#current = this.#queue.shift() ?? null;
    if (this.#current === null) return;
    this.#thread ??= this.#start();
    this.#thread.ref();
    this.#thread.postMessage(this.#current.question);
    this.#limit(START_MS);
  }

  #start(): Worker {
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const thread = new Worker(new URL(`./media-thread.${extension}`, import.meta.url), {
      execArgv: ["--disable-warning=ExperimentalWarning"],
      name: "media",
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memoryMb, maxYoungGenerationSizeMb: 32 },
      // What libraries print of a foreign file is for nobody.
      stdout: true,
      stderr: true,
    });
    thread.on("message", (reply: Reply) => this.#onMessage(thread, reply));
    thread.on("error", (error) => this.#end(thread, `it cannot be read (${error.message})`));
    thread.on("exit", () => this.#end(thread, "it cannot be read (reading it ended the thread)"));
    return thread;
  }

  #onMessage(thread: Worker, reply: Reply): void {
    if (thread !== this.#thread) return;
    if (reply.type === "read") this.#answer(reply.answer);
    else this.#limit(this.#limits.deadlineMs + (this.#current?.sizeBytes ?? 0) / BYTES_PER_MS);
  }

  #limit(delayMs: number): void {
    clearTimeout(this.#timer);
    const thread = this.#thread!;
    const limitMs = Math.round(delayMs);
    this.#timer = setTimeout(() => this.#end(thread, `it cannot be read within ${limitMs} ms`), limitMs);
  }

  #end(thread: Worker, fault: string): void {
    if (thread !== this.#thread) return;
    this.#thread = null;
    void thread.terminate();
    this.#answer({ fault, isUnread: true });
  }

  #answer(answered: Answered): void {
    clearTimeout(this.#timer);
    this.#thread?.unref();
    const current = this.#current;
    this.#current = null;
    current?.answer(answered);
    this.#next();
  }
}

/** Of this process. */
export const mediaReader = new MediaReader();
