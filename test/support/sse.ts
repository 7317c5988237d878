import type { ServerResponse } from "node:http";
import { statusBody } from "./fake-service.ts";

/** Writes the frames of one connection to a job's stream. */
export interface SseWriter {
  status(id: string, status: string, extra?: Record<string, unknown>): void;
  log(id: number, event?: string): void;
  raw(text: string): void;
  done(): void;
  end(): void;
  /** Breaks the connection without ending the stream. */
  cut(): void;
}

export function sse(response: ServerResponse): SseWriter {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const write = (text: string) => void response.write(text);
  const frame = (event: string, id: string, data: unknown) =>
    write(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
  return {
    status: (id, status, extra) => frame("status", id, statusBody(status, extra)),
    log: (id, event = "progress") =>
      frame("log", String(id), {
        id,
        timestamp: "2030-01-01T00:00:00Z",
        level: "info",
        event,
        message: `event ${id}`,
        source: "worker",
        data: {},
      }),
    raw: write,
    done: () => response.end("event: done\ndata: [STREAM_DONE]\n\n"),
    end: () => response.end(),
    cut: () => setImmediate(() => response.destroy()),
  };
}
