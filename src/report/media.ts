import { copyFile, mkdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { FinalFile, ReportFacts } from "./facts.ts";
import type { MediaPlace } from "./page/gallery.ts";

interface Found {
  readonly file: FinalFile;
  /** Null when the file is gone, or lies outside of the run's folder. */
  readonly path: string | null;
  readonly sizeBytes: number;
}

/** Results made on the way stand in the page only while they are small. */
const SMALL_BYTES = 700_000;

/** Copies of what was made on the way, by content hash, as far as there is room; they are known by `sha256:…`. */
export async function placeOnTheWay(
  facts: ReportFacts,
  pathOf: (sha256: string) => string,
  inlineBytes: number,
): Promise<ReadonlyMap<string, MediaPlace>> {
  const places = new Map<string, MediaPlace>();
  let room = inlineBytes;
  for (const { sha256, contentType } of facts.onTheWay) {
    const key = `sha256:${sha256}`;
    if (places.has(key) || !isPlayed(contentType)) continue;
    const size = await stat(pathOf(sha256)).then(
      (found) => found.size,
      () => Number.POSITIVE_INFINITY,
    );
    if (size > Math.min(room, SMALL_BYTES)) continue;
    room -= size;
    places.set(key, { type: "inline", url: await dataUrl(pathOf(sha256), contentType) });
  }
  return places;
}

/** Bytes that stand in the page. */
export function inlineBytesOf(places: ReadonlyMap<string, MediaPlace>): number {
  return [...places.values()].reduce((sum, { type, ...place }) => {
    return sum + (type === "inline" && "url" in place ? Math.floor((place.url.length * 3) / 4) : 0);
  }, 0);
}

/**
 * Where the page at `pagePath` finds each returned file: the smallest within the page, as many as fit into
 * `inlineBytes`; the others as they lie below the page's own folder, or else copied to a folder beside it.
 */
export async function placeMedia(
  facts: ReportFacts,
  pagePath: string,
  inlineBytes: number,
): Promise<ReadonlyMap<string, MediaPlace>> {
  const places = new Map<string, MediaPlace>();
  const found = await Promise.all(facts.files.map((file) => find(file, facts.report.out_dir)));
  let room = inlineBytes;
  for (const one of found.toSorted((a, b) => a.sizeBytes - b.sizeBytes)) {
    const { file, path, sizeBytes } = one;
    if (path === null) places.set(file.file, { type: "missing", path: join(facts.report.out_dir, file.file) });
    else if (sizeBytes <= room && isPlayed(file.contentType)) {
      room -= sizeBytes;
      places.set(file.file, { type: "inline", url: await dataUrl(path, file.contentType) });
    } else places.set(file.file, { type: "beside", url: await besideUrl(path, file, pagePath) });
  }
  return places;
}

async function find(file: FinalFile, outDir: string): Promise<Found> {
  try {
    const folder = await realpath(outDir);
    const path = await realpath(resolve(folder, file.file));
    const facts = await stat(path);
    if (!path.startsWith(folder + sep) || !facts.isFile()) return { file, path: null, sizeBytes: 0 };
    return { file, path, sizeBytes: facts.size };
  } catch {
    return { file, path: null, sizeBytes: 0 };
  }
}

function isPlayed(contentType: string): boolean {
  return /^(image|video|audio)\/[\w.+-]+$/.test(contentType);
}

async function dataUrl(path: string, contentType: string): Promise<string> {
  return `data:${contentType};base64,${await readFile(path, "base64")}`;
}

async function besideUrl(path: string, file: FinalFile, pagePath: string): Promise<string> {
  const folder = await realpath(dirname(pagePath));
  if (path.startsWith(folder + sep)) return urlOf(relative(folder, path));
  const besides = `${basename(pagePath).replace(/\.html?$/i, "")}-files`;
  const target = join(folder, besides, ...file.file.split("/"));
  await mkdir(dirname(target), { recursive: true });
  await copyFile(path, target);
  return urlOf(relative(folder, target));
}

function urlOf(path: string): string {
  return path.split(sep).map(encodeURIComponent).join("/");
}
