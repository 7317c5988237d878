// Server-sent events, as text.

export const STREAM_HEADERS = { "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no" };
/** Browsers reconnect after so many milliseconds. */
export const STREAM_START = "retry: 1000\n\n";
/** Sent when nothing happens, so that no proxy closes a silent connection. */
export const STREAM_BEAT = ": beat\n\n";
export const STREAM_BEAT_MS = 15_000;

export function streamFrame(event: string, data: unknown, id?: number): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
