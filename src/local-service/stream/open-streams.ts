import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { HOUR_MS } from "../../core/kit/duration.ts";
import type { StreamFault } from "../faults/engine.ts";
import type { Call } from "../http/call.ts";

/** Marks the end of a stream, so it must never appear inside another frame. */
const DONE = "[STREAM_DONE]";
const HARMLESS = "\\u005bSTREAM_DONE]";

export const DONE_FRAME = `event: done\ndata: ${DONE}\n\n`;
const KEEP_ALIVE = ": keep-alive\n\n";

export const retryFrame = (ms: number) => `retry: ${ms}\n\n`;

function frame(event: "status" | "log", id: string, data: unknown): string {
  return `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data).replaceAll(DONE, HARMLESS)}\n\n`;
}

export const logFrame = (id: number, data: unknown) => frame("log", String(id), data);

/**
 * Formats a job's status as a frame. The frame's id is the id of the last event before it, followed by a suffix that
 * shows whether the stream ends.
 */
export const statusFrame = (lastEventId: number, isEnd: boolean, data: unknown) =>
  frame("status", `${lastEventId}.${isEnd ? 2 : 1}`, data);

interface ResumePoint {
  readonly eventId: number;
  readonly sawEnd: boolean;
}

/** Parses the `Last-Event-ID` header. If its format is unknown, the stream restarts at the beginning. */
export function parseResumePoint(header: string | null): ResumePoint {
  const match = /^(\d{1,15})(?:\.([012]))?$/.exec(header?.trim() ?? "");
  return match ? { eventId: Number(match[1]), sawEnd: match[2] === "2" } : { eventId: 0, sawEnd: false };
}

interface Sink {
  readonly isOpen: boolean;
  /** Sends a frame. Resolves when the connection can accept more data. */
  send(frame: string): Promise<void>;
  /** Sends a comment. Injected delays and cuts do not affect it. */
  comment(text: string): void;
  end(last?: string): void;
}

export const STREAM_HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-store",
  "X-Accel-Buffering": "no",
};

export function openSink({ outgoing, standardHeaders }: Call, fault: StreamFault | null): Sink {
  let isOpen = true;
  let framesLeft = fault?.cutAfter ?? Number.POSITIVE_INFINITY;
  outgoing.writeHead(200, { ...standardHeaders, ...STREAM_HEADERS });
  outgoing.on("close", () => {
    isOpen = false;
  });
  outgoing.on("error", () => undefined);

  function end(last = ""): void {
    if (isOpen) outgoing.end(last);
    isOpen = false;
  }

  function cut(): void {
    if (fault?.clean) end();
    else outgoing.destroy();
    isOpen = false;
  }

  return {
    get isOpen() {
      return isOpen;
    },
    async send(frame) {
      if (!isOpen || frame === "") return;
      if (framesLeft <= 0) return cut();
      framesLeft -= 1;
      if (fault && fault.delayMs > 0) await sleep(fault.delayMs);
      if (!isOpen || outgoing.write(frame)) return;
      await Promise.race([once(outgoing, "drain"), once(outgoing, "close")]).catch(() => undefined);
    },
    comment(text) {
      if (isOpen && !outgoing.writableNeedDrain) outgoing.write(text);
    },
    end,
  };
}

const KEEP_ALIVE_MS = 15_000;
/** Maximum duration of a stream. The service then ends the stream, and the client reconnects. */
const MAX_STREAM_MS = HOUR_MS;

interface OpenStream {
  keepAlive(comment: string): void;
  shutDown(): void;
}

export function createOpenStreams() {
  /** When each stream was opened. */
  const open = new Map<OpenStream, number>();

  const sweep = setInterval(() => {
    const oldest = performance.now() - MAX_STREAM_MS;
    for (const [stream, since] of open) {
      if (since < oldest) stream.shutDown();
      else stream.keepAlive(KEEP_ALIVE);
    }
  }, KEEP_ALIVE_MS);
  sweep.unref();

  return {
    add(stream: OpenStream): () => void {
      open.set(stream, performance.now());
      return () => void open.delete(stream);
    },
    count: () => open.size,
    shutDown(): void {
      clearInterval(sweep);
      for (const stream of [...open.keys()]) stream.shutDown();
    },
  };
}

export type OpenStreams = ReturnType<typeof createOpenStreams>;
