import type { Answer, Call } from "../http/call.ts";
import { logItem } from "../jobs/views.ts";
import { isTerminal } from "../lifecycle/job.ts";
import type { ServiceContext } from "../service-context.ts";
import type { JobRow } from "../store/rows.ts";
import { DONE_FRAME, logFrame, parseResumePoint, retryFrame, statusFrame } from "./open-streams.ts";

const EVENTS_PER_READ = 200;
/** Comment sent when the service itself ends a stream. */
const RETRY_MS = 1000;

const HEADERS = { "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no" };

/** `GET /jobs/{job_id}/stream`. Reads from the store whenever it is woken, with backpressure from the reader. */
export function jobStream(service: ServiceContext, find: (call: Call) => JobRow) {
  const { store, views, hub, streams } = service;

  function open(call: Call, job: JobRow): void {
    const { outgoing } = call;
    const resume = parseResumePoint(call.header("last-event-id"));
    let lastEventId = resume.eventId;
    let shown = job.status;
    const fault = service.faults.stream(job);
    let framesLeft = fault?.cutAfter ?? Number.POSITIVE_INFINITY;
    let paused = false;
    let closed = false;

    /** A snapshot is the current status; only the frame after all logs is terminal. */
    const showStatus = (current: JobRow, isEnd: boolean) => {
      shown = current.status;
      send(statusFrame(lastEventId, isEnd, views.status(current)));
    };

    /** Writes one frame, or cuts the stream when a fault applies. */
    function send(frame: string): void {
      if (closed) return;
      if (framesLeft <= 0) {
        if (fault?.clean) finish("");
        else outgoing.destroy();
        return;
      }
      framesLeft -= 1;
      outgoing.write(frame);
    }

    function pause(): void {
      if (!fault || fault.delayMs === 0) return;
      paused = true;
      setTimeout(() => {
        paused = false;
        pump();
      }, fault.delayMs).unref();
    }

    function finish(last: string): void {
      if (closed) return;
      closed = true;
      leave();
      outgoing.end(last);
    }

    function pump(): void {
      while (!closed && !paused && !outgoing.writableNeedDrain) {
        const current = store.jobs.bySeq(job.seq);
        if (!current) return finish(DONE_FRAME);
        if (current.status !== shown && !isTerminal(current.status)) showStatus(current, false);
        const rows = store.events.after(job.seq, lastEventId, fault ? 1 : EVENTS_PER_READ);
        if (rows.length === 0) return endIfOver(current);
        for (const row of rows) {
          lastEventId = row.id;
          send(logFrame(row.id, logItem(row)));
        }
        pause();
      }
    }

    function endIfOver(current: JobRow): void {
      if (!isTerminal(current.status)) return;
      showStatus(current, true);
      finish(DONE_FRAME);
    }

    outgoing.writeHead(200, { ...call.standardHeaders, ...HEADERS });
    const leave = streams.add({
      wakeOn: (wake) => hub.subscribe(job.seq, wake),
      onWake: pump,
      keepAlive: (text) => void (outgoing.writableNeedDrain || outgoing.write(text)),
      shutDown: () => finish(retryFrame(RETRY_MS)),
    });
    outgoing.on("drain", pump);
    outgoing.on("close", () => {
      closed = true;
      leave();
    });
    if (!resume.sawEnd) showStatus(job, false);
    pump();
  }

  return (call: Call): Answer => {
    const job = find(call);
    if (call.incoming.method === "HEAD") return { is: "empty", status: 200, headers: HEADERS };
    open(call, job);
    return { is: "sent", status: 200 };
  };
}
