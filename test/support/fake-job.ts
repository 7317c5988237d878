import type { ServerResponse } from "node:http";
import { type FakeService, failure, fakeService, jobBody, json, outputItem, statusBody } from "./fake-service.ts";
import { type SseWriter, sse } from "./sse.ts";

/** A job behind a real socket. The test advances it, and it serves status, result, logs and stream consistently. */
export interface FakeJob {
  readonly service: FakeService;
  /** Number of requests to each route so far. */
  readonly counts: { job: number; status: number; stream: number };
  log(): void;
  move(status: string, extra?: Record<string, unknown>): void;
  /** Breaks the connections of this many of the next requests. */
  breakNext(requests: number): void;
  /** Called after each answered read, so that a test can advance the job together with its reader. */
  onRead: (reads: number) => void;
}

export async function fakeJob(): Promise<FakeJob> {
  const counts = { job: 0, status: 0, stream: 0 };
  const logs: number[] = [];
  const streams = new Set<SseWriter>();
  let [status, extra, broken] = ["IN_QUEUE", {} as Record<string, unknown>, 0];
  const terminal = () => status !== "IN_QUEUE" && status !== "IN_PROGRESS";
  const logItem = (id: number) => ({
    id,
    timestamp: null,
    level: "info",
    event: "progress",
    message: `event ${id}`,
    source: "worker",
    data: {},
  });

  const openStream = (response: ServerResponse, lastEventId: string | undefined) => {
    counts.stream++;
    const out = sse(response);
    streams.add(out);
    out.status(`s${logs.length}`, status === "IN_QUEUE" ? status : terminal() ? "IN_PROGRESS" : status);
    for (const id of logs) if (id > Number(lastEventId ?? 0) || lastEventId?.startsWith("s")) out.log(id);
    if (!terminal()) return;
    out.status("end", status);
    out.done();
  };

  const service = await fakeService((request, response) => {
    if (broken > 0) {
      broken--;
      return void response.destroy();
    }
    const [, route, query] = /^\/v3\/jobs\/job_1(\/\w+)?(\?.*)?$/.exec(request.path) ?? ["", "none", ""];
    const resume = request.headers["last-event-id"];
    if (route === "/stream") openStream(response, Array.isArray(resume) ? resume[0] : resume);
    else if (route === "/status") {
      counts.status++;
      const after = new URLSearchParams(query).get("logs_after");
      const fresh = after === null ? [] : logs.filter((id) => after === "start" || id > Number(after));
      json(200, statusBody(status, { logs: fresh.map(logItem), logs_next_cursor: String(logs.at(-1) ?? "start") }))(
        request,
        response,
      );
    } else if (route === undefined) {
      counts.job++;
      json(200, jobBody(status, { logs: logs.map(logItem), ...extra }))(request, response);
    } else failure(404, "NOT_FOUND")(request, response);
    job.onRead(counts.job + counts.status + counts.stream);
  });

  const job: FakeJob = {
    service,
    counts,
    log() {
      logs.push(logs.length + 1);
      for (const out of streams) out.log(logs.length);
    },
    move(next, more = {}) {
      [status, extra] = [next, more];
      for (const out of streams) {
        out.status(`m${next}`, next);
        if (terminal()) out.done();
      }
      if (terminal()) streams.clear();
    },
    breakNext(requests) {
      broken = requests;
    },
    onRead: () => {},
  };
  return job;
}

export { outputItem };
