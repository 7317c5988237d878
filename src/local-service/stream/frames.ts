/** Ends a stream; must never appear inside another frame. */
const DONE = "[STREAM_DONE]";
const HARMLESS = "\\u005bSTREAM_DONE]";

export const DONE_FRAME = `event: done\ndata: ${DONE}\n\n`;
export const KEEP_ALIVE = ": keep-alive\n\n";

/** Tells the reader to come back after so many milliseconds. */
export const retryFrame = (ms: number) => `retry: ${ms}\n\n`;

/** The data is one line of JSON; a user's text cannot smuggle the end in. */
function frame(event: "status" | "log", id: string, data: unknown): string {
  return `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data).replaceAll(DONE, HARMLESS)}\n\n`;
}

export const logFrame = (id: number, data: unknown) => frame("log", String(id), data);

/** A status frame's id names the last event before it, and whether it ends the stream. */
export const statusFrame = (lastEventId: number, isEnd: boolean, data: unknown) =>
  frame("status", `${lastEventId}.${isEnd ? 2 : 1}`, data);

/** Where a reader left off. */
export interface ResumePoint {
  readonly eventId: number;
  /** It has seen the terminal status already. */
  readonly sawEnd: boolean;
}

/** Reads `Last-Event-ID`; whatever is not one of ours starts over. */
export function parseResumePoint(header: string | null): ResumePoint {
  const match = /^(\d{1,15})(?:\.([012]))?$/.exec(header?.trim() ?? "");
  return match ? { eventId: Number(match[1]), sawEnd: match[2] === "2" } : { eventId: 0, sawEnd: false };
}
