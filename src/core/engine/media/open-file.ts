import { constants, createWriteStream } from "node:fs";
import { type FileHandle, lstat, readlink, realpath, rm } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { redactUrl } from "../../api/index.ts";
import { isWithin, open } from "../../kit/files.ts";
import { ForbiddenAddressError, ForbiddenUrlError, fetchForInput, unreached } from "../../network/index.ts";
import type { InputDoor } from "../options/options.ts";
import { MediaBucketError } from "./media-errors.ts";
import type { MediaStore, StoredMedia } from "./media-store.ts";

export class ForbiddenFileError extends Error {}

export interface NamedFile extends AsyncDisposable {
  readonly file: FileHandle;
  /**
   * Path of the file. On Linux, it always leads to the open file; on other systems, the file at this path may have been
   * replaced.
   */
  readonly path: string;
}

/** Opens a file for reading. `from` lists the allowed files and folders, with links resolved; null allows any file. */
export async function openNamedFile(path: string, from: readonly string[] | null): Promise<NamedFile> {
  // Do not block on a pipe that has no writer.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
    // Do not reveal whether a forbidden file exists.
    throw from === null || from.some((allowed) => isWithin(allowed, path)) ? error : outside(from);
  });
  try {
    const link = linkTo(file);
    const place = await readlink(link).catch(() => null);
    if (from !== null && !(await isWithinAny(from, place ?? (await placeOf(file, path))))) throw outside(from);
    if (!(await file.stat()).isFile()) throw new ForbiddenFileError("is not a file");
    return { file, path: place === null ? path : link, [Symbol.asyncDispose]: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

const outside = (from: readonly string[]) =>
  new ForbiddenFileError(`is outside the folders that input files can be read from: ${from.join(", ") || "none"}`);

const linkTo = ({ fd }: FileHandle) => `/proc/self/fd/${fd}`;

/** Returns the open file's real path. Throws if the path no longer leads to that file. */
async function placeOf(file: FileHandle, path: string): Promise<string> {
  const place = await realpath(path);
  const [open, found] = await Promise.all([file.stat({ bigint: true }), lstat(place, { bigint: true })]);
  if (open.dev === found.dev && open.ino === found.ino && place === (await realpath(path))) return place;
  throw new ForbiddenFileError("was replaced while it was being opened");
}

async function isWithinAny(from: readonly string[], place: string): Promise<boolean> {
  const allowed = await Promise.all(from.map((folder) => realpath(folder).catch(() => null)));
  return allowed.some((folder) => folder !== null && isWithin(folder, place));
}

const MAX_BYTES = 1024 ** 3;
const MAX_MS = 10 * 60_000;

/** Fetches a file into the media store. Errors omit the URL's query, because the query may be secret. */
export async function fetchFile(
  url: string,
  media: MediaStore,
  { inside, maxBytes = MAX_BYTES }: Pick<InputDoor, "inside"> & { readonly maxBytes?: number },
): Promise<StoredMedia | { readonly error: string }> {
  const shown = redactUrl(url);
  const path = media.tmpPath();
  try {
    const { status, body } = await fetchForInput(url, { inside, signal: AbortSignal.timeout(MAX_MS) });
    if (status < 200 || status > 299) {
      body.on("error", () => {}).destroy();
      return { error: `${shown} answered ${status}` };
    }
    await pipeline(body, atMost(maxBytes), createWriteStream(path, { mode: 0o600, flags: "wx" }));
    return await media.adopt(path);
  } catch (error) {
    if (error instanceof MediaBucketError) throw error;
    if (error instanceof ForbiddenAddressError) {
      const isAllowable = !(error instanceof ForbiddenUrlError);
      const next = isAllowable
        ? "; the operator can allow the URL's origin with the option `inside` (--inside on the command line)"
        : "";
      return { error: `${shown} was not fetched: ${error.message}${next}` };
    }
    return { error: `${shown} could not be fetched (${unreached(error, url) ?? reasonOf(error)})` };
  } finally {
    await rm(path, { force: true });
  }
}

function atMost(bytes: number): Transform {
  let remaining = bytes;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      remaining -= chunk.length;
      if (remaining < 0) done(new Error(`it exceeds ${bytes} bytes`));
      else done(null, chunk);
    },
  });
}

/** Returns the reason for an error. Prefers the cause, because the error's own message is often just "fetch failed". */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  const inner = cause as (Error & { readonly code?: string }) | undefined;
  return inner?.code ?? inner?.message ?? message;
}
