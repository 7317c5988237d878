import { setTimeout as sleep } from "node:timers/promises";
import {
  callerEvent,
  isRunFinal,
  loadRun,
  type RunRow,
  RunView,
  statusNow,
  stepProgress,
} from "../../core/view/index.ts";
import type { StoredEvent } from "../../index.ts";
import { Shares, STREAM_BEAT, STREAM_BEAT_MS, STREAM_HEADERS, STREAM_START, streamFrame } from "../served/index.ts";
import { budgetTag, documentOf } from "./callers.ts";
import type { Call, Context } from "./options.ts";

interface Followed {
  readonly feed: RunFeed;
  readers: number;
}

/** Streams the events of runs to clients. Reads each run once, even if several clients follow it. */
export class EventStreams {
  readonly #context: Context;
  readonly #followed = new Map<string, Followed>();
  readonly #shares: Shares;

  constructor(context: Context) {
    this.#context = context;
    const each = context.options.mostStreams ?? 1_000;
    this.#shares = new Shares({ each, all: 10 * each, what: "open streams", retryAfterS: 60 });
  }

  close(): void {
    for (const { feed } of this.#followed.values()) feed.close();
    this.#followed.clear();
  }

  open({ request, caller }: Call, row: RunRow): Response {
    const afterSeq = seenBefore(request, row);
    const isFinal = isRunFinal(row.status);
    // Browsers reconnect when a stream ends. 204 prevents that, because no further events will come.
    if (isFinal && afterSeq === row.lastSeq) return new Response(null, { status: 204 });
    if (request.method === "HEAD") return new Response(null, { headers: STREAM_HEADERS });
    const owner = budgetTag(caller);
    this.#shares.take(owner, 1);
    const followed = this.#follow(row.runId);
    const frames = this.#frames(followed.feed, afterSeq, request.signal);
    const encoder = new TextEncoder();
    let isOpen = true;
    const end = () => {
      if (!isOpen) return;
      isOpen = false;
      this.#shares.free(owner, 1);
      this.#unfollow(row.runId, followed);
    };
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          try {
            const { done, value } = await frames.next();
            if (done !== true) return controller.enqueue(encoder.encode(value));
            end();
            controller.close();
          } catch (error) {
            end();
            controller.error(error);
          }
        },
        async cancel() {
          end();
        },
      },
      { highWaterMark: 0 },
    );
    request.signal.addEventListener("abort", end, { once: true });
    // If the reader has already disconnected, no abort event follows.
    if (request.signal.aborted) end();
    return new Response(body, { headers: { ...STREAM_HEADERS, "Cache-Control": "no-store" } });
  }

  async *#frames(feed: RunFeed, after: number, signal: AbortSignal): AsyncGenerator<string, void, undefined> {
    yield STREAM_START;
    await feed.ready;
    let seq = after;
    let shown = { view: "", progress: "" };
    for (;;) {
      const moved = feed.moved();
      const events = await feed.after(seq);
      if (events !== null) {
        seq = events.seq;
        yield events.text;
        continue;
      }
      const { view, progress } = feed;
      const text = `${view === shown.view ? "" : view}${progress === shown.progress ? "" : progress}`;
      shown = { view, progress };
      if (text !== "") yield text;
      if (feed.isOver || signal.aborted || (text === "" && feed.isShownToEnd && seq >= feed.lastSeq)) return;
      if (text === "" && (await beatOr(moved, signal))) yield STREAM_BEAT;
    }
  }

  #follow(runId: string): Followed {
    const known = this.#followed.get(runId);
    const followed =
      known !== undefined && !known.feed.isOver ? known : { feed: new RunFeed(this.#context, runId), readers: 0 };
    followed.readers += 1;
    this.#followed.set(runId, followed);
    return followed;
  }

  #unfollow(runId: string, followed: Followed): void {
    followed.readers -= 1;
    if (followed.readers > 0) return;
    followed.feed.close();
    if (this.#followed.get(runId) === followed) this.#followed.delete(runId);
  }
}

function seenBefore(request: Request, { lastSeq }: RunRow): number {
  const text = request.headers.get("Last-Event-ID") ?? new URL(request.url).searchParams.get("after") ?? "";
  const seq = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  return seq > lastSeq ? 0 : seq;
}

async function beatOr(moved: Promise<void>, signal: AbortSignal): Promise<boolean> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const beat = sleep(STREAM_BEAT_MS, true, { signal: either }).catch(() => false);
  const isBeat = await Promise.race([moved.then(() => false), beat]);
  over.abort();
  return isBeat;
}

const MOST_FRAMES = 500;
const READ_AT_ONCE = 500;
// The journal has no events for progress and for the end of the process that executes the run, so both are polled.
const LOOK_MS = 1_000;
/** Minimum time between two updates of a run's state, per step in its plan. The more steps, the fewer updates. */
const VIEW_MS_PER_STEP = 5;
const LEAST_VIEW_MS = 250;

class RunFeed {
  readonly #context: Context;
  readonly #runId: string;
  readonly #stop = new AbortController();
  readonly #frames: { readonly seq: number; readonly text: string }[] = [];
  #folded: RunView | null = null;
  /** The frame with the run's latest state. `progress` is the frame with the latest progress of its steps. */
  view = "";
  progress = "";
  #isInterrupted = false;
  isOver = false;
  #shownSeq = 0;
  #viewDueAt = 0;
  #viewTimer: ReturnType<typeof setTimeout> | undefined;
  #looks: ReturnType<typeof setInterval> | undefined;
  #moved = Promise.withResolvers<void>();
  readonly ready: Promise<void>;

  constructor(context: Context, runId: string) {
    this.#context = context;
    this.#runId = runId;
    this.ready = this.#begin();
    this.ready.then(
      () => void this.#run().catch(() => this.close()),
      () => this.close(),
    );
  }

  close(): void {
    this.isOver = true;
    clearInterval(this.#looks);
    clearTimeout(this.#viewTimer);
    this.#stop.abort();
    this.#tell();
  }

  get isShownToEnd(): boolean {
    const { isFinal, state } = this.#folded!;
    return isFinal && this.#shownSeq === state.seq;
  }

  get lastSeq(): number {
    return this.#folded?.state.seq ?? 0;
  }

  moved(): Promise<void> {
    return this.#moved.promise;
  }

  /** Returns one or more events after `afterSeq`, or null if there are none. */
  async after(afterSeq: number): Promise<{ readonly text: string; readonly seq: number } | null> {
    if (afterSeq >= this.lastSeq) return null;
    const [first] = this.#frames;
    if (first !== undefined && first.seq <= afterSeq + 1) {
      const due = this.#frames.slice(afterSeq + 1 - first.seq);
      return { text: due.map(({ text }) => text).join(""), seq: due.at(-1)!.seq };
    }
    const events = await this.#context.show.journal.read(this.#runId, { afterSeq, limit: READ_AT_ONCE });
    const upTo = events.filter(({ seq }) => seq <= this.lastSeq);
    return upTo.length === 0 ? null : { text: upTo.map(frameOf).join(""), seq: upTo.at(-1)!.seq };
  }

  async #begin(): Promise<void> {
    const { journal } = this.#context.show;
    this.#folded = new RunView(await loadRun(journal, this.#runId));
    await this.#look();
    this.#show();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return;
    this.#looks = setInterval(() => void this.#checkLiveness(), LOOK_MS);
    for (;;) {
      const added = await this.#read();
      if (added > 0) this.#tell();
      if (added === READ_AT_ONCE) continue;
      if (added > 0) this.#showInTime();
      const { journal } = this.#context.show;
      if (signal.aborted) return;
      await journal.waitForChange(this.#runId, this.lastSeq, signal);
    }
  }

  async #read(): Promise<number> {
    const { journal } = this.#context.show;
    const events = await journal.read(this.#runId, { afterSeq: this.lastSeq, limit: READ_AT_ONCE });
    for (const stored of events) {
      this.#folded!.add(stored);
      this.#frames.push({ seq: stored.seq, text: frameOf(stored) });
    }
    if (this.#frames.length > 2 * MOST_FRAMES) this.#frames.splice(0, this.#frames.length - MOST_FRAMES);
    return events.length;
  }

  /** Sends at most one state update per interval, however many events occur. */
  #showInTime(): void {
    const now = Date.now();
    const everyMs = Math.max(LEAST_VIEW_MS, VIEW_MS_PER_STEP * this.#folded!.state.planned.plan.steps.length);
    if (now >= this.#viewDueAt) {
      this.#viewDueAt = now + everyMs;
      return this.#show();
    }
    this.#viewTimer ??= setTimeout(() => {
      this.#viewTimer = undefined;
      this.#viewDueAt = Date.now() + everyMs;
      if (!this.isOver) this.#show();
    }, this.#viewDueAt - now);
  }

  #show(): void {
    const run = documentOf(this.#context, this.#folded!, { isInterrupted: this.#isInterrupted });
    this.#shownSeq = run.seq;
    this.view = streamFrame("run", run);
    this.#tell();
  }

  async #checkLiveness(): Promise<void> {
    const before = this.#isInterrupted;
    await this.#look().catch(() => {});
    if (this.#isInterrupted !== before && !this.isOver) this.#show();
  }

  async #look(): Promise<void> {
    const { journal } = this.#context.show;
    const row = await journal.run(this.#runId);
    if (row === null) return this.close();
    this.#isInterrupted = statusNow(row, Date.now()).status === "interrupted";
    const progress = await journal.progress(this.#runId);
    const frame = progress.length === 0 ? "" : streamFrame("progress", progress.map(stepProgress));
    if (frame === this.progress) return;
    this.progress = frame;
    this.#tell();
  }

  #tell(): void {
    this.#moved.resolve();
    this.#moved = Promise.withResolvers();
  }
}

function frameOf(stored: StoredEvent): string {
  return streamFrame("event", callerEvent(stored), stored.seq);
}
