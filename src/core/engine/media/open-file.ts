import { constants } from "node:fs";
import { type FileHandle, lstat, readlink, realpath } from "node:fs/promises";
import { isWithin, open } from "../../kit/files.ts";

/** An input contains the path of a file that must not be read. */
export class ForbiddenFileError extends Error {}

export interface NamedFile extends AsyncDisposable {
  readonly file: FileHandle;
  /** On Linux, leads to the open file; on other systems, another file may have taken its place. */
  readonly path: string;
}

/** `from`: the allowed files and folders, with links resolved; null allows any file. */
export async function openNamedFile(path: string, from: readonly string[] | null): Promise<NamedFile> {
  // Opening a pipe that has no writer would block.
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
  new ForbiddenFileError(`is outside the folders from which inputs can use files: ${from.join(", ") || "none"}`);

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
