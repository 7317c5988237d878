import type { Answer, Call } from "../http/call.ts";
import { logItem } from "../jobs/views.ts";
import { isTerminal } from "../lifecycle/job.ts";
import type { ServiceContext } from "../service-context.ts";
import type { JobRow } from "../store/rows.ts";
import {
  DONE_FRAME,
  logFrame,
  openSink,
  parseResumePoint,
  retryFrame,
  STREAM_HEADERS,
  statusFrame,
} from "./open-streams.ts";

const EVENTS_PER_READ = 200;
/** Clients reconnect after this time if a stream ends before its job. */
const RETRY_MS = 1000;

/** Reads the store after each change, but only as fast as the client reads. */
export function jobStream(service: ServiceContext, find: (call: Call) => JobRow) {
  const { store, views, hub, streams } = service;

  async function stream(call: Call, job: JobRow): Promise<void> {
    const sink = openSink(call, service.faults.stream(job));
    const { eventId, sawEnd } = parseResumePoint(call.header("last-event-id"));
    let lastEventId = eventId;
    let shown = job.status;
    let woken = Promise.withResolvers<void>();
    const wake = () => woken.resolve();
    const leave = streams.add({
      wakeOn: (onChange) => hub.subscribe(job.seq, onChange),
      onWake: wake,
      keepAlive: sink.comment,
      shutDown() {
        sink.end(retryFrame(RETRY_MS));
        wake();
      },
    });
    call.outgoing.on("close", wake);

    /** A frame with `isEnd` ends the stream, so send it after all logs. */
    const showStatus = (current: JobRow, isEnd: boolean) => {
      shown = current.status;
      return sink.send(statusFrame(lastEventId, isEnd, views.status(current)));
    };

    try {
      if (!sawEnd) await showStatus(job, false);
      while (sink.isOpen) {
        const current = store.jobs.bySeq(job.seq);
        if (!current) break;
        if (current.status !== shown && !isTerminal(current.status)) await showStatus(current, false);
        const rows = store.events.after(job.seq, lastEventId, EVENTS_PER_READ);
        for (const row of rows) {
          lastEventId = row.id;
          await sink.send(logFrame(row.id, logItem(row)));
        }
        if (rows.length > 0) continue;
        if (isTerminal(current.status)) {
          await showStatus(current, true);
          break;
        }
        await woken.promise;
        woken = Promise.withResolvers<void>();
      }
      sink.end(DONE_FRAME);
    } finally {
      leave();
    }
  }

  return (call: Call): Answer => {
    const job = find(call);
    if (call.incoming.method === "HEAD") return { is: "empty", status: 200, headers: STREAM_HEADERS };
    stream(call, job).catch((error: unknown) => service.onDefect(error, call.traceId));
    return { is: "sent", status: 200 };
  };
}
