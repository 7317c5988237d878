import { hash } from "node:crypto";
import { normalize, resolve, sep } from "node:path";
import PQueue from "p-queue";
import type { FileFacts } from "../../plan/plan.ts";
import type { InputDoor } from "../options/options.ts";
import { measureBytes } from "./media-files.ts";
import { measureMedia } from "./media-reader.ts";
import type { MediaStore } from "./media-store.ts";
import { ForbiddenFileError, fetchFile, openNamedFile } from "./open-file.ts";

const MEASURED_AT_ONCE = 8;

type Measured = FileFacts | { readonly error: string };

interface Source {
  readonly path: string;
  readonly bytes?: Uint8Array;
  readonly inside?: string;
}

/** Measures files. For a file that can no longer be read, returns its earlier measurement from `stored`. */
export async function measureFiles(
  files: readonly Source[],
  media: MediaStore,
  door: InputDoor,
  stored: readonly FileFacts[] = [],
): Promise<ReadonlyMap<string, Measured>> {
  const sources = new Map(files.map((file) => [file.path, file]));
  const queue = new PQueue({ concurrency: MEASURED_AT_ONCE });
  const measured = [...sources.values()].map((source) => async () => {
    const found = await measure(source, media, door);
    const before = stored.find((facts) => isOf(source.path, facts));
    return [source.path, "error" in found ? (before ?? found) : found] as const;
  });
  return new Map(await queue.addAll(measured));
}

/**
 * Returns true if the facts belong to the given path or URL. A relative path has to match only the end of the measured
 * path, because it may have been resolved against another folder.
 */
function isOf(given: string, { path, from }: FileFacts): boolean {
  return path === resolve(given) || path.endsWith(`${sep}${normalize(given)}`) || from === originOf(given);
}

async function measure({ path, bytes, inside }: Source, media: MediaStore, door: InputDoor): Promise<Measured> {
  if (bytes !== undefined) {
    const { sha256 } = await media.put({ bytes });
    return measureStored("the given data", sha256, media);
  }
  if (!isUrl(path)) return measureFile(path, resolve(path), door.filesFrom);
  const fetched = await fetchFile(path, media, { inside: [...door.inside, ...(inside === undefined ? [] : [inside])] });
  if ("error" in fetched) return fetched;
  const facts = await measureStored("the fetched file", fetched.sha256, media);
  return "error" in facts ? facts : { ...facts, from: originOf(path) };
}

async function measureStored(given: string, sha256: string, media: MediaStore): Promise<Measured> {
  await using held = await media.hold([sha256]);
  const facts = await measureFile(given, held.path(sha256), null);
  return "error" in facts ? facts : { ...facts, path: media.path(sha256) ?? `${media.location}#${sha256}` };
}

function isUrl(path: string): boolean {
  return /^https?:\/\//i.test(path);
}

/** Identifies a URL by its hash, because the URL's query may be secret. */
function originOf(url: string): string {
  return hash("sha256", url);
}

async function measureFile(given: string, path: string, from: readonly string[] | null): Promise<Measured> {
  try {
    await using opened = await openNamedFile(path, from);
    const { sha256, sizeBytes } = await measureBytes(opened.file.createReadStream({ autoClose: false, start: 0 }));
    if (sizeBytes === 0) return { error: `${given} is empty` };
    const found = await measureMedia(opened.path, null);
    if ("fault" in found) return { error: `${given}: ${found.fault}` };
    const { contentType, durationMs, width, height } = found;
    return {
      ...{ path, sha256, sizeBytes, contentType },
      ...(durationMs !== null && { durationMs }),
      ...(width !== null && height !== null && { ratio: width / height }),
    };
  } catch (error) {
    if (error instanceof ForbiddenFileError) return { error: `${given} ${error.message}` };
    const code = (error as NodeJS.ErrnoException).code;
    return { error: code === "ENOENT" ? `${given} does not exist` : `${given} cannot be read (${code ?? error})` };
  }
}
