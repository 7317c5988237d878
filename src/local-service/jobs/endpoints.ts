import { rm } from "node:fs/promises";
import { type Answer, type Call, type Endpoint, noContent, ok } from "../http/call.ts";
import { cursorOf, pageOf, pageRequest, readCursor } from "../http/query.ts";
import { notFound, refuse, refuseForNow } from "../http/refusal.ts";
import { isTerminal } from "../lifecycle/job.ts";
import type { ServiceContext } from "../service-context.ts";
import type { JobRow } from "../store/rows.ts";
import { jobStream } from "../stream/job-stream.ts";
import { logItem } from "./views.ts";

const inProgress = (message: string) => refuse("ALREADY_IN_PROGRESS", message);

const unfinished = () => refuseForNow("UNAVAILABLE", "The deletion could not be finished; repeat it.", 1);

function assertDeletable({ store, faults }: ServiceContext, job: JobRow): void {
  if (!isTerminal(job.status)) throw inProgress("The job has not finished yet.");
  if (job.kind === "voice") throw refuse("INVALID_ARGUMENT", "A voice-clone job cannot be deleted.");
  if (store.jobs.runningReaders(job.seq) > 0)
    throw inProgress("A job that reads an output of this one is still running.");
  if (faults.failsDelete(job)) throw unfinished();
}

/**
 * Removes prompt, logs and media; the job stays listed. Idempotent.
 * @throws Refusal 409 while it, or a job that reads its output, runs; 400 for a voice clone; 503 when it must be
 * repeated
 */
export async function deleteJob(service: ServiceContext, asked: JobRow): Promise<void> {
  const { store, clock, dataDir, onDefect } = service;
  const paths = await store.write(() => {
    const job = store.jobs.bySeq(asked.seq) ?? asked;
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
  await store.write(() => store.outputs.forgetPaths(asked.seq));
}

/** Maximum number of events in a `logs_after` response. */
const LOGS_PER_POLL = 1000;

/** The job of the path, if the caller may see it. @throws Refusal 404 */
export function jobFinder({ store }: ServiceContext) {
  return (call: Call): JobRow => {
    const { workspaceId, ownerId } = call.principal;
    const job = store.jobs.byId(call.param("job_id"));
    if (job && job.workspaceId === workspaceId && job.ownerId === ownerId) return job;
    throw notFound("There is no such job, or it is not visible to you.");
  };
}

/** Everything under `/jobs`. */
export function jobEndpoints(service: ServiceContext): readonly Endpoint[] {
  const { store, views } = service;
  const find = jobFinder(service);

  function list(call: Call): Answer {
    const { limit, after } = pageRequest(call);
    const rows = store.jobs.page(call.principal, after ?? Number.MAX_SAFE_INTEGER, limit + 1);
    return ok(pageOf(rows, limit, (job) => job.seq, views.summary));
  }

  function logsSince(job: JobRow, cursor: string) {
    const after = cursor === "start" ? 0 : (readCursor(cursor, "logs_after") ?? 0);
    const rows = store.events.after(job.seq, after, LOGS_PER_POLL);
    return { logs: rows.map(logItem), logs_next_cursor: cursorOf(rows.at(-1)?.id ?? after) };
  }

  function status(call: Call): Answer {
    const job = find(call);
    const cursor = call.query("logs_after");
    return ok({ ...views.status(job), ...(cursor === null ? {} : logsSince(job, cursor)) });
  }

  function logs(call: Call): Answer {
    const job = find(call);
    const { limit, after } = pageRequest(call);
    return ok(pageOf(store.events.after(job.seq, after ?? 0, limit + 1), limit, (row) => row.id, logItem));
  }

  async function remove(call: Call): Promise<Answer> {
    await deleteJob(service, find(call));
    return noContent;
  }

  return [
    { method: "GET", path: "/jobs", access: "jobs:read", summary: "Your jobs, newest first", handle: list },
    {
      method: "GET",
      path: "/jobs/{job_id}",
      access: "jobs:read",
      summary: "A job with its outputs",
      handle: (call) => ok(views.result(find(call))),
    },
    {
      method: "DELETE",
      path: "/jobs/{job_id}",
      access: "jobs:write",
      summary: "Forget a job's prompt, logs and media",
      handle: remove,
    },
    {
      method: "GET",
      path: "/jobs/{job_id}/status",
      access: "jobs:read",
      summary: "Status, progress and new events",
      handle: status,
    },
    {
      method: "GET",
      path: "/jobs/{job_id}/logs",
      access: "jobs:read",
      summary: "Lifecycle events, oldest first",
      handle: logs,
    },
    {
      method: "GET",
      path: "/jobs/{job_id}/stream",
      access: "jobs:read",
      summary: "Server-sent events until the job ends",
      handle: jobStream(service, find),
    },
  ];
}
