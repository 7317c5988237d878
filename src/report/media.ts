import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, lstat, mkdir, readFile, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { finished } from "node:stream/promises";
import type { FinalFile, ReportFacts } from "./facts.ts";
import type { MediaLocation } from "./page/gallery.ts";

/** Where the media store keeps a content hash. What a journal says of folders and file names is never read. */
export type PathOf = (sha256: string) => string;

interface Found {
  readonly file: FinalFile;
  /** The local copy; null when it is missing. */
  readonly path: string | null;
  readonly sizeBytes: number;
}

/** Intermediate results are part of the page only while they are small. */
const SMALL_BYTES = 700_000;
/** Most that are considered, of which a page shows the small ones. */
const MOST_INTERMEDIATE = 1000;

/** Copies of intermediate results by content hash, as far as they fit; their keys are `sha256:…`. */
export async function placeIntermediate(
  facts: ReportFacts,
  pathOf: PathOf,
  inlineBytes: number,
): Promise<ReadonlyMap<string, MediaLocation>> {
  const locations = new Map<string, MediaLocation>();
  let room = inlineBytes;
  for (const { sha256, contentType } of facts.intermediateOutputs.slice(0, MOST_INTERMEDIATE)) {
    const key = `sha256:${sha256}`;
    if (locations.has(key) || !isPlayed(contentType)) continue;
    if (!/^[0-9a-f]{64}$/.test(sha256)) continue;
    const size = (await plainFile(pathOf(sha256)))?.size ?? Number.POSITIVE_INFINITY;
    if (size > Math.min(room, SMALL_BYTES) || !(await holds(pathOf(sha256), sha256))) continue;
    room -= size;
    locations.set(key, { type: "inline", url: await dataUrl(pathOf(sha256), contentType) });
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
  options: { readonly inlineBytes: number; readonly pathOf: PathOf },
): Promise<ReadonlyMap<string, MediaLocation>> {
  const locations = new Map<string, MediaLocation>();
  const found: Found[] = [];
  for (const file of facts.files) found.push(await find(file, options.pathOf));
  let room = options.inlineBytes;
  for (const { file, path, sizeBytes } of found.toSorted((a, b) => a.sizeBytes - b.sizeBytes)) {
    if (path === null || !(await holds(path, file.sha256))) {
      locations.set(file.file, { type: "missing", path: join(facts.report.out_dir, file.file) });
    } else if (sizeBytes <= room && isPlayed(file.contentType)) {
      room -= sizeBytes;
      locations.set(file.file, { type: "inline", url: await dataUrl(path, file.contentType) });
    } else locations.set(file.file, { type: "beside", url: await besideUrl(path, { file, sizeBytes, pagePath }) });
  }
  return locations;
}

async function find(file: FinalFile, pathOf: PathOf): Promise<Found> {
  const path = file.sha256 === null || !/^[0-9a-f]{64}$/.test(file.sha256) ? null : pathOf(file.sha256);
  const facts = path === null ? null : await plainFile(path);
  return facts === null ? { file, path: null, sizeBytes: 0 } : { file, path, sizeBytes: facts.size };
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
