import { Worker } from "node:worker_threads";
import {
  type ProbeResult,
  RenderError,
  type RenderErrorCode,
  type RenderOptions,
  type RenderRequest,
  type RenderResult,
} from "./contract.ts";

/**
 * State shared with a thread: the number of images that it is decoding, and whether it is closing. The thread is
 * normally terminated only when the number is 0, because an interrupted decode would show up as a memory leak.
 */
export type DecodeGate = Int32Array<SharedArrayBuffer>;

const PENDING = 0;
const CLOSING = 1;
/** How long to wait for decodes to finish before a thread is terminated anyway, in milliseconds. */
const LONGEST_DECODE_MS = 5_000;

export function newGate(): DecodeGate {
  return new Int32Array(new SharedArrayBuffer(8));
}

/** Runs `work` and counts it as pending in the gate. If the thread is closing, the returned promise never settles. */
export async function passGate<T>(gate: DecodeGate, work: () => Promise<T>): Promise<T> {
  Atomics.add(gate, PENDING, 1);
  try {
    if (Atomics.load(gate, CLOSING) === 0) return await work();
  } finally {
    Atomics.sub(gate, PENDING, 1);
    Atomics.notify(gate, PENDING);
  }
  return new Promise<never>(() => {});
}

export async function closeGate(gate: DecodeGate): Promise<void> {
  Atomics.store(gate, CLOSING, 1);
  for (;;) {
    const pending = Atomics.load(gate, PENDING);
    if (pending === 0) return;
    const outcome = await Atomics.waitAsync(gate, PENDING, pending, LONGEST_DECODE_MS).value;
    if (outcome === "timed-out") return;
  }
}

/** Work for a worker thread. An output is written to `tempPath`, and renamed when it is complete. */
export type Task =
  | { readonly type: "render"; readonly request: RenderRequest; readonly tempPath: string }
  | { readonly type: "probe"; readonly path: string };

export type Result = RenderResult | ProbeResult;

export type Reply =
  | { readonly type: "done"; readonly result: Result }
  | { readonly type: "failed"; readonly code: RenderErrorCode; readonly message: string };

interface PoolOptions extends RenderOptions {
  /** Time limit in milliseconds, counted from the start of the task. Default: no limit. */
  readonly timeLimitMs?: number;
}

interface Waiting {
  readonly task: Task;
  readonly options: PoolOptions;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: RenderError) => void;
  readonly release: () => void;
  timer?: NodeJS.Timeout;
}

interface Lane {
  readonly worker: Worker;
  readonly gate: DecodeGate;
  current: Waiting | null;
}

function startWorker(gate: DecodeGate): Worker {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const worker = new Worker(new URL(`./worker.${extension}`, import.meta.url), {
    execArgv: ["--disable-warning=ExperimentalWarning"],
    name: "render",
    workerData: gate,
  });
  worker.unref();
  return worker;
}

export class WorkerPool {
  readonly #size: number;
  readonly #onStart: (worker: Worker) => void;
  readonly #lanes = new Set<Lane>();
  readonly #queue: Waiting[] = [];
  #closed = false;

  constructor(size: number, onStart: (worker: Worker) => void = () => {}) {
    this.#onStart = onStart;
    this.#size = Math.max(1, Math.floor(size));
  }

  run(task: Task, options: PoolOptions = {}): Promise<Result> {
    const { signal } = options;
    if (this.#closed) return Promise.reject(aborted("the renderer is closed"));
    if (signal?.aborted) return Promise.reject(aborted("the signal was aborted before the work started"));
    return new Promise<Result>((resolve, reject) => {
      const onAbort = () => this.#abort(waiting, "the signal was aborted");
      const release = () => {
        signal?.removeEventListener("abort", onAbort);
        clearTimeout(waiting.timer);
      };
      const waiting: Waiting = { task, options, resolve, reject, release };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#queue.push(waiting);
      this.#dispatch();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of this.#queue.splice(0)) complete(waiting, aborted("the renderer was closed"));
    await Promise.all([...this.#lanes].map((lane) => this.#stop(lane, aborted("the renderer was closed"))));
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const lane = this.#freeLane();
      const waiting = lane && this.#queue.shift();
      if (!lane || !waiting) return;
      lane.current = waiting;
      lane.worker.ref();
      lane.worker.postMessage(waiting.task);
      const { timeLimitMs } = waiting.options;
      if (timeLimitMs === undefined) continue;
      waiting.timer = setTimeout(
        () => this.#abort(waiting, `the renderer took longer than ${timeLimitMs} ms`),
        timeLimitMs,
      );
    }
  }

  #freeLane(): Lane | null {
    for (const lane of this.#lanes) if (lane.current === null) return lane;
    return this.#lanes.size < this.#size ? this.#openLane() : null;
  }

  #openLane(): Lane {
    const gate = newGate();
    const lane: Lane = { worker: startWorker(gate), gate, current: null };
    this.#lanes.add(lane);
    this.#onStart(lane.worker);
    lane.worker.on("message", (reply: Reply) => this.#onReply(lane, reply));
    lane.worker.on("error", (cause) => this.#lost(lane, cause));
    lane.worker.on("exit", () => this.#lost(lane, null));
    return lane;
  }

  #onReply(lane: Lane, reply: Reply): void {
    const { current } = lane;
    if (current === null) return;
    lane.current = null;
    lane.worker.unref();
    complete(current, reply.type === "done" ? reply.result : new RenderError(reply.code, reply.message));
    this.#dispatch();
  }

  #lost(lane: Lane, cause: unknown): void {
    if (!this.#lanes.delete(lane)) return;
    const why = cause instanceof Error ? `: ${cause.message}` : "";
    if (lane.current) {
      const message = `the render worker stopped unexpectedly${why}; submit the request again`;
      complete(lane.current, new RenderError("RENDER_WORKER_LOST", message, { cause }));
    }
    lane.current = null;
    this.#dispatch();
  }

  #abort(waiting: Waiting, why: string): void {
    const at = this.#queue.indexOf(waiting);
    if (at >= 0) {
      this.#queue.splice(at, 1);
      complete(waiting, aborted("the signal was aborted before the work started"));
      return;
    }
    // A rendering thread does not process messages, so it is terminated and replaced.
    for (const lane of this.#lanes) {
      if (lane.current === waiting) void this.#stop(lane, aborted(why)).then(() => this.#dispatch());
    }
  }

  async #stop(lane: Lane, error: RenderError): Promise<void> {
    this.#lanes.delete(lane);
    const { current } = lane;
    lane.current = null;
    // Keeps the process alive during the wait. Waiting for the gate alone would not.
    lane.worker.ref();
    await closeGate(lane.gate);
    await lane.worker.terminate();
    if (current) complete(current, error);
  }
}

function complete(waiting: Waiting, outcome: Result | RenderError): void {
  waiting.release();
  if (outcome instanceof RenderError) waiting.reject(outcome);
  else waiting.resolve(outcome);
}

const aborted = (why: string) => new RenderError("RENDER_ABORTED", `rendering was stopped: ${why}`);
