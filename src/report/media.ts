import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, lstat, mkdir, readFile, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { finished } from "node:stream/promises";
import type { MediaStore } from "../index.ts";
import type { FinalFile, ReportFacts } from "./facts.ts";
import type { MediaLocation } from "./page/gallery.ts";

/** Where copies come from, by content hash. What a journal says of folders and file names is never read. */
export type Media = Pick<MediaStore, "sizeOf" | "hold">;

interface Found {
  readonly file: FinalFile;
  /** The hash of the copy; null when it is missing. */
  readonly sha256: string | null;
  readonly sizeBytes: number;
}

/** Intermediate results are part of the page only while they are small. */
const SMALL_BYTES = 700_000;
/** Most that are considered, of which a page shows the small ones. */
const MOST_INTERMEDIATE = 1000;

/** Copies of intermediate results by content hash, as far as they fit; their keys are `sha256:…`. */
export async function placeIntermediate(
  facts: ReportFacts,
  media: Media,
  inlineBytes: number,
): Promise<ReadonlyMap<string, MediaLocation>> {
  const locations = new Map<string, MediaLocation>();
  let room = inlineBytes;
  for (const { sha256, contentType } of facts.intermediateOutputs.slice(0, MOST_INTERMEDIATE)) {
    const key = `sha256:${sha256}`;
    if (locations.has(key) || !isPlayed(contentType)) continue;
    if (!/^[0-9a-f]{64}$/.test(sha256)) continue;
    const size = (await media.sizeOf(sha256)) ?? Number.POSITIVE_INFINITY;
    if (size > Math.min(room, SMALL_BYTES)) continue;
    await using held = await media.hold([sha256]);
    if (!(await holds(held.path(sha256), sha256))) continue;
    room -= size;
    locations.set(key, { type: "inline", url: await dataUrl(held.path(sha256), contentType) });
  }
  return locations;
}

/** Bytes that stand in the page. */
export function inlineBytesOf(locations: ReadonlyMap<string, MediaLocation>): number {
  return [...locations.values()].reduce((sum, { type, ...location }) => {
    return sum + (type === "inline" && "url" in location ? Math.floor((location.url.length * 3) / 4) : 0);
  }, 0);
}

/**
 * Where the page at `pagePath` finds each returned file: the smallest within the page, as many as fit into
 * `inlineBytes`; the others as they lie below the page's own folder, or else copied to a folder beside it.
 */
export async function placeMedia(
  facts: ReportFacts,
  pagePath: string,
  options: { readonly inlineBytes: number; readonly media: Media },
): Promise<ReadonlyMap<string, MediaLocation>> {
  const locations = new Map<string, MediaLocation>();
  const found: Found[] = [];
  for (const file of facts.files) found.push(await find(file, options.media));
  let room = options.inlineBytes;
  for (const { file, sha256, sizeBytes } of found.toSorted((a, b) => a.sizeBytes - b.sizeBytes)) {
    await using held = sha256 === null ? null : await options.media.hold([sha256]);
    const path = held?.path(sha256!) ?? null;
    if (path === null || !(await holds(path, file.sha256))) {
      locations.set(file.file, { type: "missing", path: join(facts.report.out_dir, file.file) });
    } else if (sizeBytes <= room && isPlayed(file.contentType)) {
      room -= sizeBytes;
      locations.set(file.file, { type: "inline", url: await dataUrl(path, file.contentType) });
    } else locations.set(file.file, { type: "beside", url: await besideUrl(path, { file, sizeBytes, pagePath }) });
  }
  return locations;
}

async function find(file: FinalFile, media: Media): Promise<Found> {
  const sha256 = file.sha256 === null || !/^[0-9a-f]{64}$/.test(file.sha256) ? null : file.sha256;
  const size = sha256 === null ? null : await media.sizeOf(sha256);
  return size === null ? { file, sha256: null, sizeBytes: 0 } : { file, sha256, sizeBytes: size };
}

/** Null for what is no file: links lead elsewhere, and pipes never end. */
async function plainFile(path: string) {
  const facts = await lstat(path).catch(() => null);
  return facts?.isFile() ? facts : null;
}

/** A store that came with a foreign journal may hold anything under any hash. */
async function holds(path: string, sha256: string | null): Promise<boolean> {
  const hash = createHash("sha256");
  const read = finished(createReadStream(path).on("data", (piece) => hash.update(piece)));
  return read.then(
    () => hash.digest("hex") === sha256,
    () => false,
  );
}

function isPlayed(contentType: string): boolean {
  return /^(image|video|audio)\/[\w.+-]+$/.test(contentType);
}

async function dataUrl(path: string, contentType: string): Promise<string> {
  return `data:${contentType};base64,${await readFile(path, "base64")}`;
}

/** A file that lies below the page's folder under its own name is linked where it is; else a copy is put beside the page. */
async function besideUrl(
  path: string,
  { file, sizeBytes, pagePath }: { readonly file: FinalFile; readonly sizeBytes: number; readonly pagePath: string },
): Promise<string> {
  const folder = await realpath(dirname(pagePath));
  const named = resolve(folder, file.file);
  if (named.startsWith(folder + sep) && (await plainFile(named))?.size === sizeBytes)
    return urlOf(relative(folder, named));
  const besides = join(folder, `${basename(pagePath).replace(/\.html?$/i, "")}-files`);
  const requested = resolve(besides, file.file);
  const target = requested.startsWith(besides + sep) ? requested : join(besides, file.sha256 ?? "file");
  await mkdir(dirname(target), { recursive: true });
  await copyFile(path, target);
  return urlOf(relative(folder, target));
}

function urlOf(path: string): string {
  return path.split(sep).map(encodeURIComponent).join("/");
}
