import { rm } from "node:fs/promises";
import {
  type Answer,
  type Call,
  cursorOf,
  type Endpoint,
  endpoint,
  newestFirst,
  noContent,
  ok,
  pageOf,
  pageRequest,
  readCursor,
} from "../http/call.ts";
import { notFound, refuse, refuseForNow } from "../http/refusal.ts";
import { isTerminal } from "../lifecycle/job.ts";
import type { NormalOptions } from "../options.ts";
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
} from "../stream/open-streams.ts";
import { logItem } from "./views.ts";

const inProgress = (asOf: NormalOptions["asOf"], message: string) =>
  asOf === "3.9" ? refuse("ALREADY_IN_PROGRESS", message) : refuseForNow("ALREADY_IN_PROGRESS", message, 2);

const unfinished = () => refuseForNow("UNAVAILABLE", "The deletion could not be completed; try again.", 1);

function assertDeletable({ store, faults, options: { asOf } }: ServiceContext, job: JobRow): void {
  if (!isTerminal(job.status)) throw inProgress(asOf, "The job has not finished yet.");
  if (job.kind === "voice") throw refuse("INVALID_ARGUMENT", "A voice-clone job cannot be deleted.");
  if (store.jobs.runningReaders(job.seq) > 0)
    throw inProgress(asOf, "A job that reads one of this job's outputs is still running.");
  if (faults.failsDelete(job)) throw unfinished();
}

/**
 * Removes a job's prompt, logs and media, but keeps the job in lists.
 * @throws Refusal 409 while the job or a job that reads its output is running, 400 for a voice clone, 503 if the call
 * must be repeated
 */
async function deleteJob(service: ServiceContext, requested: JobRow): Promise<void> {
  const { store, clock, dataDir, onDefect } = service;
  const paths = await store.write(() => {
    const job = store.jobs.bySeq(requested.seq) ?? requested;
    if (job.deletedAt === null) {
      assertDeletable(service, job);
      store.outputs.expireAll(job.seq);
      store.events.clear(job.seq);
      store.jobs.markDeleted(job.seq, clock.now());
    }
    return store.outputs.ofJob(job.seq).flatMap((output) => output.path ?? []);
  });
  if (paths.length === 0) return;
  try {
    await Promise.all(paths.map((path) => rm(dataDir.absolute(path), { force: true })));
  } catch (error) {
    onDefect(error, "");
    throw unfinished();
  }
  await store.write(() => store.outputs.forgetPaths(requested.seq));
}

const LOGS_PER_POLL = 1000;

export function jobEndpoints(service: ServiceContext): readonly Endpoint[] {
  const { store, views, options } = service;

  function find({ principal, param }: Call): JobRow {
    const job = store.jobs.byId(param("job_id"));
    if (job?.workspaceId === principal.workspaceId && job.ownerId === principal.ownerId) return job;
    throw notFound("The job does not exist or is not visible to you.");
  }

  const list = (call: Call) =>
    newestFirst(call, (before, count) => store.jobs.page(call.principal, before, count), views.summary);

  function logsSince(job: JobRow, call: Call) {
    const after = call.query("logs_after") === "start" ? 0 : (readCursor(call, "logs_after") ?? 0);
    const rows = store.events.after(job.seq, after, LOGS_PER_POLL);
    const logs = rows.map(logItem);
    // Without new events the cursor is omitted. The previous cursor stays valid.
    if (logs.length === 0 && options.asOf !== "3.9") return { logs };
    return { logs, logs_next_cursor: cursorOf(call, rows.at(-1)?.id ?? after) };
  }

  function status(call: Call): Answer {
    const job = find(call);
    return ok({ ...views.status(job), ...(call.query("logs_after") === null ? {} : logsSince(job, call)) });
  }

  function logs(call: Call): Answer {
    const job = find(call);
    const { limit, after } = pageRequest(call);
    return ok(pageOf(call, store.events.after(job.seq, after ?? 0, limit + 1), limit, (row) => row.id, logItem));
  }

  async function remove(call: Call): Promise<Answer> {
    await deleteJob(service, find(call));
    return noContent;
  }

  const stream = jobStream(service, find);
  return [
    endpoint("GET", "/jobs", "jobs:read", "Your jobs, newest first", list),
    endpoint("GET", "/jobs/{job_id}", "jobs:read", "A job with its outputs", (call) => ok(views.result(find(call)))),
    endpoint("DELETE", "/jobs/{job_id}", "jobs:write", "Delete a job's prompt, logs and media", remove),
    endpoint("GET", "/jobs/{job_id}/status", "jobs:read", "Status, progress and new events", status),
    endpoint("GET", "/jobs/{job_id}/logs", "jobs:read", "Lifecycle events, oldest first", logs),
    endpoint("GET", "/jobs/{job_id}/stream", "jobs:read", "Server-sent events until the job ends", stream),
  ];
}

const EVENTS_PER_READ = 200;
/** How long clients wait before they reconnect to a stream that ended before the job did, in milliseconds. */
const RETRY_MS = 1000;

/** Returns a function that streams a job's events to a client, no faster than the client reads them. */
function jobStream(service: ServiceContext, find: (call: Call) => JobRow) {
  const { store, views, hub, streams } = service;

  async function stream(call: Call, job: JobRow): Promise<void> {
    const sink = openSink(call, service.faults.stream(job));
    const { eventId, sawEnd } = parseResumePoint(call.header("last-event-id"));
    let lastEventId = eventId;
    let shown = job.status;
    let woken = Promise.withResolvers<void>();
    const wake = () => woken.resolve();
    hub.on(String(job.seq), wake);
    const leave = streams.add({
      keepAlive: sink.comment,
      shutDown() {
        sink.end(retryFrame(RETRY_MS));
        wake();
      },
    });
    call.outgoing.on("close", wake);

    /** Sends the job's status. A frame with `isEnd` ends the stream, so send it after all logs. */
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
      hub.off(String(job.seq), wake);
    }
  }

  return (call: Call): Answer => {
    const job = find(call);
    if (call.incoming.method === "HEAD") return { is: "empty", status: 200, headers: STREAM_HEADERS };
    stream(call, job).catch((error: unknown) => service.onDefect(error, call.traceId));
    return { is: "sent", status: 200 };
  };
}
