import { createHash } from "node:crypto";
import { closeSync, createReadStream, createWriteStream, fstatSync } from "node:fs";
import { mkdir, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Served } from "../media/download.ts";
import { RECORDED_MEDIA, type RecordedAsset } from "../recording/recorded-values.ts";
import { type Placeholder, writePlaceholder } from "../render/placeholder.ts";
import type { ServiceContext } from "../service-context.ts";
import { openPlainFile, type Recording } from "./recording.ts";
import { recordedId } from "./replayed-job.ts";

export interface ReplayedMedia {
  urlOf(output: Readonly<Record<string, unknown>>): string;
  file(id: string): Promise<Served | null>;
}

export function createReplayedMedia(
  recording: Recording,
  { presigner, clock, dataDir, options }: ServiceContext,
): ReplayedMedia {
  const outputs = new Map<string, { readonly asset: RecordedAsset | undefined; readonly placeholder: Placeholder }>();
  const making = new Map<string, Promise<string>>();
  const folder = dataDir.absolute("replayed");

  function prepared(id: string, write: (path: string) => Promise<void>): Promise<string> {
    const path = join(folder, id);
    const known = making.get(id);
    if (known !== undefined) return known;
    const made = (async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await write(`${path}.part`);
      await rename(`${path}.part`, path);
      return path;
    })();
    making.set(id, made);
    made.catch(() => making.delete(id));
    return made;
  }

  return {
    urlOf(output) {
      const named = typeof output.asset_id === "string" ? output.asset_id : "";
      // A repeated job has new ids, but the same bytes.
      const asset = recording.assets.get(named) ?? recording.assets.get(recordedId(named));
      const id = createHash("sha256")
        .update(JSON.stringify([named, output.content_type, output.width, output.height]))
        .digest("hex")
        .slice(0, 32);
      outputs.set(id, { asset, placeholder: placeholderOf(output, id) });
      return presigner.sign(`/replayed/${id}`, clock.now() + options.urlLifeMs);
    },
    async file(id) {
      const output = outputs.get(id);
      if (output === undefined) return null;
      const { asset, placeholder } = output;
      const path = await (asset === undefined
        ? prepared(id, async (to) => writeFile(to, await writePlaceholder(placeholder), { mode: 0o600 }))
        : prepared(asset.sha256, (to) => copyChecked(join(recording.folder, RECORDED_MEDIA, asset.sha256), to, asset)));
      const { size, mtimeMs } = await stat(path);
      const contentType = (asset?.content_type ?? placeholder.contentType) || "application/octet-stream";
      return { path, contentType, sizeBytes: size, etag: `"${id}"`, modifiedAt: mtimeMs, cutAfter: () => null };
    },
  };
}

async function copyChecked(from: string, to: string, { sha256, size_bytes }: RecordedAsset): Promise<void> {
  const fd = openPlainFile(from);
  if (fstatSync(fd).size !== size_bytes) {
    closeSync(fd);
    throw new Error(`the size of ${from} differs from the recorded size`);
  }
  const hash = createHash("sha256");
  const bytes = createReadStream("", { fd });
  bytes.on("data", (chunk) => hash.update(chunk));
  await pipeline(bytes, createWriteStream(to, { mode: 0o600 }));
  if (hash.digest("hex") !== sha256) throw new Error(`the bytes of ${from} differ from the recorded bytes`);
}

function placeholderOf(output: Readonly<Record<string, unknown>>, mark: string): Placeholder {
  const { content_type, width, height, duration_ms } = output;
  const number = (value: unknown) => (typeof value === "number" && Number.isFinite(value) && value > 0 ? value : null);
  const contentType =
    typeof content_type === "string" && /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(content_type) ? content_type : "";
  return { contentType, width: number(width), height: number(height), durationMs: number(duration_ms), mark };
}
