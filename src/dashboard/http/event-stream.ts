import type { ServerResponse } from "node:http";

/** One open stream of server-sent events. */
export interface EventStream {
  /** Aborted when the reader disconnects or the server closes. */
  readonly signal: AbortSignal;
  send(event: string, data: unknown, id?: number): void;
  end(): void;
}

/** Keeps proxies and browsers from taking silence for death. */
const BEAT_MS = 15_000;
/** A reader this far behind is disconnected; it reconnects with the number of the last event that it saw. */
const MOST_UNSENT_BYTES = 32 * 1024 * 1024;

const HEADERS = { "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no" };

/** The head that a stream would have, for who asks for that alone. */
export function sendStreamHead(response: ServerResponse): void {
  response.writeHead(200, HEADERS).end();
}

export function openEventStream(response: ServerResponse): EventStream {
  const removed = new AbortController();
  response.writeHead(200, HEADERS);
  response.write("retry: 1000\n\n");
  const beat = setInterval(() => response.write(": beat\n\n"), BEAT_MS);
  response.on("close", () => {
    clearInterval(beat);
    removed.abort();
  });
  return {
    signal: removed.signal,
    send(event, data, id) {
      if (removed.signal.aborted) return;
      if (response.writableLength > MOST_UNSENT_BYTES) return void response.destroy();
      response.write(`${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    end: () => void response.end(),
  };
}
