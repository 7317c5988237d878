import { ExitCode } from "./exit-code.ts";
import { visible } from "./text/escape.ts";

/** What the system says of a path, and what helps. */
const meanings: Readonly<Record<string, readonly [meaning: string, next: string]>> = {
  ENOENT: ["does not exist, or is a link that leads nowhere", "check the path, then repeat the command"],
  EEXIST: ["is there already, and is no folder", "name another path, or move it away"],
  ENOTDIR: ["leads through something that is no folder", "name another path, or move what is in the way"],
  EISDIR: ["is a folder, where a file is needed", "name a file"],
  ELOOP: ["is a link that leads back to itself", "remove the link, or name another path"],
  ENAMETOOLONG: ["has a name that is too long for this file system", "name a shorter path"],
  EACCES: ["may not be used by this user", "change its permissions, or name another path"],
  EPERM: ["may not be changed by this user", "change its permissions, or name another path"],
  EROFS: ["lies on a disk that is read-only", "make it writable, or name another path"],
  ENOSPC: ["lies on a disk that is full", "free space, then repeat the command"],
  EDQUOT: ["lies on a disk whose quota is used up", "free space, then repeat the command"],
  EMFILE: ["could not be opened: too many files are open", "raise the limit (ulimit -n), then repeat the command"],
  EBUSY: ["is in use by another program", "close that program, then repeat the command"],
  EIO: ["could not be read or written: the disk failed", "check the disk, then repeat the command"],
};

/** An error of the system about a path: of the machine that this runs on, not of the program. */
export function isFileSystemError(error: Error): error is NodeJS.ErrnoException {
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  return typeof code === "string" && Object.hasOwn(meanings, code) && (path !== undefined || syscall === "write");
}

/** The path, what is the matter with it, and what to do. */
export function fileTrouble({ code = "", path, syscall = "" }: NodeJS.ErrnoException) {
  const [meaning, next] = meanings[code]!;
  const message = `${path === undefined ? "What was to be written" : visible(path)} ${meaning} (${code}, ${syscall})`;
  return { message, next, exitCode: ExitCode.failed };
}
