import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileExtension, outputsOf, placedFile, type RunView } from "../../index.ts";
import { type Call, notFound, type Route } from "../http/route.ts";
import type { DashboardContext } from "../options.ts";

interface Entry {
  /** Within the archive. */
  readonly name: string;
  readonly sha256: string;
}

/** All results of a run as one archive: returned files under their names, the others in a folder beside them. */
export function downloadRoutes({ cache, media }: Pick<DashboardContext, "cache" | "media">): readonly Route[] {
  const send = async ({ params, incoming, response }: Call): Promise<void> => {
    const { view } = await cache.get(params.run!);
    const entries = entriesOf(view);
    if (entries.length === 0) throw notFound("A result of this run");
    response.writeHead(200, {
      "Content-Type": "application/zip",
      "Content-Disposition": `attachment; filename="${params.run!.replace(/[^\w.-]/g, "_")}.zip"`,
      "Cache-Control": "no-store",
    });
    if (incoming.method === "HEAD") return void response.end();
    const { ZipFile } = await import("yazl");
    const zip = new ZipFile();
    const mtime = new Date(view.state.finishedAt ?? view.state.createdAt);
    const missing: string[] = [];
    for (const { name, sha256 } of entries) {
      if ((await media.sizeOf(sha256)) === null) missing.push(name);
      // Opened one after the other, as the archive gets to them; media are compressed already.
      else
        zip.addReadStreamLazy(name, { compress: false, mtime }, (opened) => {
          media.read(sha256).then(
            (bytes) => opened(null, Readable.from(bytes)),
            (error) => opened(error, undefined as never),
          );
        });
    }
    if (missing.length > 0) {
      const text = `No copy of these is on this machine any more:\n\n${missing.join("\n")}\n`;
      zip.addBuffer(Buffer.from(text), "missing.txt", { mtime });
    }
    zip.on("error", () => response.destroy());
    zip.end();
    await pipeline(zip.outputStream, response).catch(() => response.destroy());
  };
  return [{ method: "GET", path: "/download/:run", handle: send }];
}

function entriesOf({ state, steps }: RunView): readonly Entry[] {
  const taken = new Set<string>();
  return steps.flatMap(({ path }) =>
    outputsOf(state.steps[path]!).flatMap(({ index, copy }): readonly Entry[] => {
      if (copy === null) return [];
      const placed = placedFile(state, path, index)?.file;
      const made = `intermediate/${path}-${index + 1}${fileExtension(copy.contentType)}`;
      const name = unused(safePath(placed ?? made), taken);
      return [{ name, sha256: copy.sha256 }];
    }),
  );
}

/** A relative path of plain parts, whatever a step or a file is called. */
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
