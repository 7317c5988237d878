import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Hono } from "hono";
import { parseRange } from "../../core/kit/http.ts";
import { errorAnswer } from "../http/call.ts";
import { notFound, refuse } from "../http/refusal.ts";
import type { ServiceContext } from "../service-context.ts";
import { traceId as newTraceId } from "../store/rows.ts";
import { pathOf } from "../store/tables.ts";

export interface Served {
  readonly path: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  readonly etag: string;
  readonly modifiedAt: number;
  cutAfter(): number | null;
}

type Env = { Bindings: HttpBindings };
type Range = ReturnType<typeof parseRange>;

function rangeOf(served: Served, headers: HttpBindings["incoming"]["headers"]): Range {
  const condition = headers["if-range"];
  const modified = new Date(served.modifiedAt).toUTCString();
  const holds = condition === undefined || condition === served.etag || condition === modified;
  return holds ? parseRange(headers.range, served.sizeBytes) : "whole";
}

function headersOf(served: Served, range: Range): Record<string, string | number> {
  const base = {
    "Accept-Ranges": "bytes",
    "Content-Type": served.contentType,
    ETag: served.etag,
    "Last-Modified": new Date(served.modifiedAt).toUTCString(),
    "Cache-Control": "private, max-age=3600",
    "X-Content-Type-Options": "nosniff",
    "Access-Control-Allow-Origin": "*",
  };
  if (range === "beyond") return { ...base, "Content-Range": `bytes */${served.sizeBytes}`, "Content-Length": 0 };
  if (range === "whole") return { ...base, "Content-Length": served.sizeBytes };
  const { start, end } = range;
  return { ...base, "Content-Range": `bytes ${start}-${end}/${served.sizeBytes}`, "Content-Length": end - start + 1 };
}

async function send({ incoming, outgoing }: HttpBindings, served: Served, cutAfter: number | null): Promise<number> {
  const matches = incoming.headers["if-none-match"] === served.etag;
  if (matches) {
    outgoing.writeHead(304, { ETag: served.etag }).end();
    return 304;
  }
  const range = rangeOf(served, incoming.headers);
  const status = range === "whole" ? 200 : range === "beyond" ? 416 : 206;
  outgoing.writeHead(status, headersOf(served, range));
  if (incoming.method === "HEAD" || range === "beyond" || served.sizeBytes === 0) {
    outgoing.end();
    return status;
  }
  const { start, end: whole } = range === "whole" ? { start: 0, end: served.sizeBytes - 1 } : range;
  const end = cutAfter === null ? whole : Math.min(whole, start + cutAfter - 1);
  const bytes = createReadStream(served.path, { start, end });
  // A client that disconnects is not a defect.
  await pipeline(bytes, outgoing, { end: end === whole }).catch(() => outgoing.destroy());
  if (end !== whole) outgoing.destroy();
  return status;
}

export function mountDownloads(
  app: Hono<Env>,
  service: ServiceContext,
  replayed: ((id: string) => Promise<Served | null>) | null,
): void {
  const { store, clock, dataDir, presigner, metrics } = service;

  function asset(id: string): Served | null {
    const output = store.outputs.byAsset(id);
    const job = output && store.jobs.bySeq(output.jobSeq);
    const path = output ? pathOf(output) : null;
    if (!job || path === null || (job.expiresAt !== null && job.expiresAt <= clock.now())) return null;
    return {
      path: dataDir.absolute(path),
      contentType: output.contentType ?? "application/octet-stream",
      sizeBytes: output.sizeBytes ?? 0,
      etag: `"${id}"`,
      modifiedAt: job.completedAt ?? job.createdAt,
      cutAfter: () => service.faults.download(job),
    };
  }

  function upload(id: string): Served | null {
    const file = store.files.get(id);
    if (!file) return null;
    const { contentType, sizeBytes, createdAt: modifiedAt } = file;
    const path = dataDir.absolute(file.path);
    return { path, contentType, sizeBytes, etag: `"${id}"`, modifiedAt, cutAfter: () => null };
  }

  async function locate(url: URL): Promise<Served> {
    const verdict = presigner.verify(url, clock.now());
    if (verdict === "forged") throw refuse("PERMISSION_DENIED", "The signature of this URL is not valid.");
    if (verdict === "expired")
      throw refuse("PERMISSION_DENIED", "This URL has expired; fetch the job again to get a new URL.");
    const served = await find(url.pathname);
    if (!served) throw notFound("The file no longer exists.");
    return served;
  }

  function find(pathname: string): Served | null | Promise<Served | null> {
    const id = pathname.slice(pathname.lastIndexOf("/") + 1);
    if (pathname.startsWith("/replayed/")) return replayed?.(id) ?? null;
    return pathname.startsWith("/media/") ? asset(id) : upload(id);
  }

  for (const folder of ["media", "uploads", ...(replayed === null ? [] : ["replayed"])]) {
    app.get(`/${folder}/:id`, async (c) => {
      const url = new URL(c.req.url);
      try {
        const served = await locate(url);
        const status = await send(c.env, served, served.cutAfter());
        metrics.count(`GET /${folder}/{id}`, status);
        return RESPONSE_ALREADY_SENT;
      } catch (error) {
        const traceId = newTraceId();
        const answer = errorAnswer(error, traceId, service.options);
        metrics.count(`GET /${folder}/{id}`, answer.status);
        return Response.json(answer.body, { status: answer.status, headers: { "X-Trace-Id": traceId } });
      }
    });
  }
}
