import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { fileExtension } from "../../../core/kit/file-name.ts";
import type { ByteRange } from "../../../core/kit/http.ts";
import { own } from "../../../core/kit/lookup.ts";
import type { RunView } from "../../../core/view/index.ts";
import {
  bytesResponse,
  declaredBytes,
  isOfType,
  keepFile,
  mediaResponse,
  notFound,
  Refusal,
} from "../../served/index.ts";
import type { Call, Route } from "../http/route.ts";
import type { DashboardContext } from "../options.ts";

const SCREENS = ["/", "/review", "/plan", "/costs", "/runs/:run", "/runs/:run/:tab"];

export function pageRoutes(folder: string): readonly Route[] {
  const screen = ({ request }: Call) => pageFile(request, folder, "index.html");
  const asset = ({ request, params }: Call) => pageFile(request, join(folder, "assets"), params.name!);
  return [
    ...SCREENS.map((path): Route => ({ method: "GET", path, handle: screen })),
    // Sends no icon. Browsers request this path before they have read the page, and the page sets another icon.
    { method: "GET", path: "/favicon.ico", handle: async () => new Response(null, { status: 204 }) },
    { method: "GET", path: "/assets/:name", handle: asset },
  ];
}

/** Routes for the media of runs. They serve only files that the journal lists. */
export function mediaRoutes({ cache, media }: DashboardContext): readonly Route[] {
  const send = async ({ params, query, request }: Call) => {
    const { view } = await cache.get(params.run!);
    const step = own(view.state.steps, params.step!);
    const attempt = query.get("attempt");
    const earlier = step?.attempts.find(({ n }) => String(n) === attempt)?.outputs;
    const outputs = attempt === null ? view.outputs(params.step!) : earlier;
    const copy =
      params.index === "upload" ? step?.upload : outputs?.find(({ index }) => String(index) === params.index)?.copy;
    if (copy == null) throw notFound("This output");
    return mediaResponse(request, media, copy, { "Cache-Control": "private, max-age=3600" });
  };
  return [{ method: "GET", path: "/media/:run/:step/:index", handle: send }];
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".woff2": "font/woff2",
  ".svg": "image/svg+xml",
};

/** Returns the folder of the built page. In a checkout, first rebuilds the page if its sources have changed. */
export async function pageFolder(): Promise<string> {
  if (!import.meta.url.endsWith(".ts")) return fileURLToPath(new URL("../page", import.meta.url));
  const builder = new URL("../../../../scripts/dashboard-page.ts", import.meta.url).href;
  const { builtPage } = (await import(builder)) as { readonly builtPage: () => Promise<string> };
  return builtPage();
}

export async function pageFile(
  request: Parameters<typeof bytesResponse>[0],
  folder: string,
  name: string,
  status?: number,
): Promise<Response> {
  const contentType = TYPES[extname(name)];
  const isName = contentType !== undefined && /^[A-Za-z0-9_-]+\.[a-z0-9]+$/.test(name);
  const path = join(folder, name);
  const found = isName ? await stat(path).catch(() => null) : null;
  if (contentType === undefined || found?.isFile() !== true) throw notFound("This file");
  // Names of scripts, styles and fonts contain a hash of their content.
  const isLasting = !name.endsWith(".html");
  const headers = {
    "Content-Type": contentType,
    ...(isLasting && { "Cache-Control": "private, max-age=31536000, immutable" }),
  };
  const bytes = { sizeBytes: found.size, read: async (range: ByteRange) => createReadStream(path, range) };
  return bytesResponse(request, bytes, { status, headers });
}

interface Entry {
  readonly name: string;
  readonly sha256: string;
}

export function downloadRoutes({ cache, media }: Pick<DashboardContext, "cache" | "media">): readonly Route[] {
  const send = async ({ params, request }: Call): Promise<Response> => {
    const { view } = await cache.get(params.run!);
    const entries = entriesOf(view);
    if (entries.length === 0) throw new Refusal(404, "NOT_FOUND", "This run has no files to download yet.");
    const headers = {
      "Content-Type": "application/zip",
      "Content-Disposition": `attachment; filename="${params.run!.replace(/[^\w.-]/g, "_")}.zip"`,
      "Cache-Control": "no-store",
    };
    if (request.method === "HEAD") return new Response(null, { headers });
    const { ZipFile } = await import("yazl");
    const zip = new ZipFile();
    const mtime = new Date(view.state.finishedAt ?? view.state.createdAt);
    const missing: string[] = [];
    for (const { name, sha256 } of entries) {
      if ((await media.sizeOf(sha256)) === null) missing.push(name);
      // Opens files one at a time, when the archive reaches them. Stores them uncompressed, because media are already
      // compressed.
      else
        zip.addReadStreamLazy(name, { compress: false, mtime }, (opened) => {
          media.read(sha256).then(
            (bytes) => opened(null, Readable.from(bytes)),
            (error) => opened(error, undefined as never),
          );
        });
    }
    if (missing.length > 0) {
      const text = `This machine no longer has a copy of these files:\n\n${missing.join("\n")}\n`;
      zip.addBuffer(Buffer.from(text), "missing.txt", { mtime });
    }
    const archive = zip.outputStream as Readable;
    zip.on("error", (error) => archive.destroy(error));
    zip.end();
    return new Response(Readable.toWeb(archive) as ReadableStream, { headers });
  };
  return [{ method: "GET", path: "/download/:run", handle: send }];
}

function entriesOf(run: RunView): readonly Entry[] {
  const taken = new Set<string>();
  return run.steps.flatMap(({ path, outputs }) =>
    outputs.flatMap(({ index, copy }): readonly Entry[] => {
      if (copy === null) return [];
      const placed = run.placed(path, index)?.file;
      const made = `intermediate/${path}-${index + 1}${fileExtension(copy.contentType)}`;
      const name = unused(safePath(placed ?? made), taken);
      return [{ name, sha256: copy.sha256 }];
    }),
  );
}

function safePath(path: string): string {
  const parts = path.split(/[/\\]/).map((part) => part.replace(/[^\p{L}\p{N}._ -]/gu, "_"));
  return parts.filter((part) => !/^\.*$/.test(part)).join("/");
}

function unused(name: string, taken: Set<string>): string {
  let free = name;
  for (let n = 2; taken.has(free.toLowerCase()); n += 1) free = name.replace(/(\.[^./]*)?$/, ` (${n})$1`);
  taken.add(free.toLowerCase());
  return free;
}

/** Maximum size of a file that can be picked in the browser. For larger files, people enter a path. */
const MOST_BYTES = 2 ** 31;

export function pickRoutes({ pickedDir }: Pick<DashboardContext, "pickedDir">): readonly Route[] {
  if (pickedDir === null) return [];
  const pick = async ({ request, query }: Call) => {
    const name = query.get("name") ?? "";
    if (!isOfType(request, "application/octet-stream"))
      throw new Refusal(415, "CONTENT_TYPE", "Send the file's bytes as application/octet-stream.");
    if (declaredBytes(request) > MOST_BYTES) throw tooLarge();
    return keepFile(request.body!, { folder: pickedDir, name, mostBytes: MOST_BYTES, tooLarge });
  };
  return [{ method: "POST", path: "/api/files", handle: pick }];
}

function tooLarge(): Refusal {
  return new Refusal(413, "TOO_LARGE", "The file exceeds the upload limit of 2 GiB; enter its path instead.");
}
