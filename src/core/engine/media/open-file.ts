import { constants } from "node:fs";
import { type FileHandle, lstat, readlink, realpath } from "node:fs/promises";
import { open } from "../../kit/file-handle.ts";
import { isWithin } from "../../kit/is-within.ts";

/** A file that an input must not have read. */
export class ForbiddenFileError extends Error {}

export interface NamedFile extends AsyncDisposable {
  readonly file: FileHandle;
  /** For what opens files by path: leads to the open file on Linux, elsewhere to whatever lies there by now. */
  readonly path: string;
}

/**
 * Opens the file of an absolute path that an input names. What is judged is the open file and not its path, which may lead
 * elsewhere a moment later: read its bytes through the handle. `from`: folders that it must lie in, or itself, links resolved; null: anywhere.
 * @throws ForbiddenFileError where it lies elsewhere, or is no file
 */
export async function openNamedFile(path: string, from: readonly string[] | null): Promise<NamedFile> {
  // A pipe that nobody writes to would be waited for.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
    // Nor is it said whether there is such a file.
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
  new ForbiddenFileError(`lies outside of the folders that inputs may name files of: ${from.join(", ") || "none"}`);

/** A path to an open file, on Linux. */
const linkTo = ({ fd }: FileHandle) => `/proc/self/fd/${fd}`;

/** Where the open file lies, links resolved, by what the path leads to now, if that is the same file. */
async function placeOf(file: FileHandle, path: string): Promise<string> {
  const place = await realpath(path);
  const [open, found] = await Promise.all([file.stat({ bigint: true }), lstat(place, { bigint: true })]);
  if (open.dev === found.dev && open.ino === found.ino && place === (await realpath(path))) return place;
  throw new ForbiddenFileError("was replaced while it was opened");
}

async function isWithinAny(from: readonly string[], place: string): Promise<boolean> {
  const allowed = await Promise.all(from.map((folder) => realpath(folder).catch(() => null)));
  return allowed.some((folder) => folder !== null && isWithin(folder, place));
}
