import type { Answer, Call } from "../http/call.ts";
import { isRecord } from "../json.ts";
import type { ServiceContext } from "../service-context.ts";
import type { RecordedAnswer, RecordedFrame } from "./recording.ts";

const HEADERS = { "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no" };

/** Sends the frames of a stream as they were once they are due, and breaks it off where the service did. */
export function sendRecordedStream(
  { status, events, isCut }: RecordedAnswer,
  personal: (value: unknown) => unknown,
  { outgoing, standardHeaders }: Call,
  { clock, streams, dueAt }: Pick<ServiceContext, "clock" | "streams"> & { readonly dueAt: number },
): Answer {
  const text = (events ?? []).map((frame) => frameText(frame, personal)).join("");
  outgoing.writeHead(status, { ...standardHeaders, ...HEADERS });
  const send = () => void (isCut ? outgoing.write(text, () => outgoing.destroy()) : outgoing.end(text));
  if (dueAt <= clock.now()) send();
  else {
    outgoing.flushHeaders();
    const leave = streams.add({
      wakeOn: (wake) => clock.at(dueAt, wake),
      onWake: () => {
        leave();
        send();
      },
      keepAlive: (comment) => void outgoing.write(comment),
      shutDown: () => {
        leave();
        outgoing.end();
      },
    });
    outgoing.once("close", leave);
  }
  return { is: "sent", status };
}

function frameText({ event, id, retry, data }: RecordedFrame, personal: (value: unknown) => unknown): string {
  const said = typeof data === "string" ? data : JSON.stringify(personal(data));
  const lines = [
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(retry === undefined ? [] : [`retry: ${retry}`]),
    ...(said === undefined ? [] : said.split(/\r\n|\r|\n/).map((line) => `data: ${line}`)),
  ];
  return `${lines.join("\n")}\n\n`;
}

/** The status that an answer of a job shows, as an answer of the status endpoint; null where it shows none. */
export function statusAnswer(recorded: RecordedAnswer): RecordedAnswer | null {
  const frames = recorded.events?.filter(({ event }) => event === "status") ?? [];
  const shown = recorded.status === 200 ? (frames.at(-1)?.data ?? recorded.answer) : null;
  if (!isRecord(shown) || typeof shown.status !== "string" || typeof shown.job_id !== "string") return null;
  const { job_id, status, progress = null, estimated_completion_at = null } = shown;
  return { ...recorded, events: null, headers: {}, answer: { job_id, status, progress, estimated_completion_at } };
}

/** The stream of a job that was polled: a frame for each status, and the end. Null where no status is recorded. */
export function streamAnswer(answers: readonly RecordedAnswer[]): RecordedAnswer | null {
  const shown = answers.flatMap((answer) => statusAnswer(answer) ?? []);
  const last = shown.at(-1);
  if (last === undefined) return null;
  const frames = shown.map(({ answer }, index) => ({ event: "status", id: `${index}.1`, data: answer }));
  const end = { event: "done", data: "[STREAM_DONE]" };
  return { ...last, answer: undefined, events: [...frames, end], isCut: false };
}
