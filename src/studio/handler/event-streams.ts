import { setTimeout as sleep } from "node:timers/promises";
import { isRunFinal, type RunRow } from "../../core/view/index.ts";
import { Shares, STREAM_BEAT, STREAM_BEAT_MS, STREAM_HEADERS, STREAM_START } from "../served/index.ts";
import { budgetTag } from "./callers.ts";
import type { Call, Context } from "./options.ts";
import { RunFeed } from "./run-feed.ts";

interface Followed {
  readonly feed: RunFeed;
  readers: number;
}

/** Reads each run once, even if several clients follow it. */
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
    const end = once(() => {
      this.#shares.free(owner, 1);
      this.#unfollow(row.runId, followed);
    });
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
    const shown = { view: 0, progress: 0 };
    for (;;) {
      const moved = feed.moved();
      const events = await feed.after(seq);
      if (events !== null) {
        seq = events.seq;
        yield events.text;
        continue;
      }
      const { view, progress } = feed;
      const due = [
        view.version > shown.view ? view.frame : "",
        progress.version > shown.progress ? progress.frame : "",
      ];
      [shown.view, shown.progress] = [view.version, progress.version];
      const text = due.join("");
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

/** Returns true if nothing changed within a heartbeat interval. */
async function beatOr(moved: Promise<void>, signal: AbortSignal): Promise<boolean> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const beat = sleep(STREAM_BEAT_MS, true, { signal: either }).catch(() => false);
  const isBeat = await Promise.race([moved.then(() => false), beat]);
  over.abort();
  return isBeat;
}

function once(then: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    then();
  };
}
