import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, lstat, mkdir, readFile, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { finished } from "node:stream/promises";
import type { MediaStore } from "../../../internal.ts";
import { mediaHeaders } from "../../served/index.ts";
import type { MediaView } from "../views/run-wire.ts";

/** Where copies come from, by content hash. What a journal says of folders and file names is never read. */
type Store = Pick<MediaStore, "sizeOf" | "hold">;

export interface PlacedMedia {
  /** What takes the place of each address of the dashboard. */
  readonly places: ReadonlyMap<string, Pick<MediaView, "url" | "error">>;
  /** Data that stands in the page, by the name that `places` gives it. */
  readonly inline: Readonly<Record<string, string>>;
  /** How many returned files are embedded in the page, stored beside it, or missing. */
  readonly counts: { readonly inline: number; readonly beside: number; readonly missing: number };
}

interface Shown extends MediaView {
  readonly url: string;
  readonly sha256: string;
}

/** Other results than those returned are part of the page only while they are small. */
const SMALL_BYTES = 700_000;
const MOST_FILES = 500;
const MOST_OTHERS = 1000;

/**
 * Where the page at `pagePath` finds its media: the smallest returned files within the page, as many as fit into
 * `inlineBytes`; the others as they lie below the page's own folder, or else copied to a folder beside it. What else the run
 * made is in the page as far as it fits.
 */
export async function placeMedia(
  media: readonly MediaView[],
  { pagePath, inlineBytes, outDir, store }: { pagePath: string; inlineBytes: number; outDir: string; store: Store },
): Promise<PlacedMedia> {
  const places = new Map<string, Pick<MediaView, "url" | "error">>();
  const inline: Record<string, string> = {};
  const counts = { inline: 0, beside: 0, missing: 0 };
  let bytesLeft = inlineBytes;
  const embed = async ({ url, sha256, contentType }: Shown, path: string, sizeBytes: number) => {
    const name = `inline:${sha256}`;
    if (!Object.hasOwn(inline, name)) {
      bytesLeft -= sizeBytes;
      inline[name] = `data:${mediaHeaders(contentType).contentType};base64,${await readFile(path, "base64")}`;
    }
    places.set(url, { url: name, error: null });
  };
  const shown = [...new Map(media.filter(isShown).map((one) => [one.url, one])).values()];
  const sized: (readonly [Shown, number | null])[] = [];
  for (const one of shown.filter(({ file }) => file !== null).slice(0, MOST_FILES))
    sized.push([one, await sizeOf(one, store)]);
  for (const [one, sizeBytes] of sized.toSorted(([, a], [, b]) => (a ?? 0) - (b ?? 0))) {
    const { url, sha256, kind, file } = one;
    await using held = sizeBytes === null ? null : await store.hold([sha256]);
    const path = held?.path(sha256) ?? null;
    if (path === null || sizeBytes === null || !(await holds(path, sha256))) {
      counts.missing += 1;
      places.set(url, { url: null, error: `No copy is left; it was stored at ${join(outDir, file!)}` });
    } else if (sizeBytes <= bytesLeft && kind !== "other") {
      counts.inline += 1;
      await embed(one, path, sizeBytes);
    } else {
      counts.beside += 1;
      places.set(url, { url: await besideUrl(path, { one, sizeBytes, pagePath }), error: null });
    }
  }
  for (const one of shown.filter(({ url }) => !places.has(url)).slice(0, MOST_OTHERS)) {
    const sizeBytes = one.kind === "other" ? null : await sizeOf(one, store);
    if (sizeBytes === null || sizeBytes > Math.min(bytesLeft, SMALL_BYTES)) continue;
    await using held = await store.hold([one.sha256]);
    const path = held.path(one.sha256);
    if (await holds(path, one.sha256)) await embed(one, path, sizeBytes);
  }
  return { places, inline, counts };
}

function isShown(media: MediaView): media is Shown {
  return media.url !== null && media.sha256 !== null;
}

async function sizeOf({ sha256 }: Shown, store: Store): Promise<number | null> {
  return /^[0-9a-f]{64}$/.test(sha256) ? store.sizeOf(sha256) : null;
}

/** A store that came with a foreign journal may hold anything under any hash. */
async function holds(path: string, sha256: string): Promise<boolean> {
  const hash = createHash("sha256");
  const read = finished(createReadStream(path).on("data", (piece) => hash.update(piece)));
  return read.then(
    () => hash.digest("hex") === sha256,
    () => false,
  );
}

/** A file that lies below the page's folder under its own name is linked where it is; else a copy is put beside the page. */
async function besideUrl(
  path: string,
  { one: { file, sha256 }, sizeBytes, pagePath }: { one: Shown; sizeBytes: number; pagePath: string },
): Promise<string> {
  const folder = await realpath(dirname(pagePath));
  const named = resolve(folder, file!);
  // Links lead elsewhere, and pipes never end.
  const found = named.startsWith(folder + sep) ? await lstat(named).catch(() => null) : null;
  if (found?.isFile() && found.size === sizeBytes) return urlOf(relative(folder, named));
  const besides = join(folder, `${basename(pagePath).replace(/\.html?$/i, "")}-files`);
  const requested = resolve(besides, file!);
  const target = requested.startsWith(besides + sep) ? requested : join(besides, sha256);
  await mkdir(dirname(target), { recursive: true });
  await copyFile(path, target);
  return urlOf(relative(folder, target));
}

function urlOf(path: string): string {
  return path.split(sep).map(encodeURIComponent).join("/");
}
