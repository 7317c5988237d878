import { access, constants, mkdir } from "node:fs/promises";
import { InvalidOptionError } from "../errors.ts";

/** Makes the folder for named files where there is none, before anything is paid. @throws InvalidOptionError */
export async function prepareOutDir(outDir: string): Promise<void> {
  const fault = await faultOf(outDir);
  if (fault === null) return;
  throw new InvalidOptionError(
    "outDir",
    `files cannot be put into ${outDir}: ${fault}. Nothing was submitted.`,
    "the same with --out FOLDER, a folder that this user can write to",
  );
}

async function faultOf(path: string): Promise<string | null> {
  try {
    await mkdir(path, { recursive: true });
    await access(path, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    const { code = "", path: at = path } = error as NodeJS.ErrnoException;
    return REASONS[code]?.(at) ?? `the system refuses ${at} (${code})`;
  }
}

const REASONS: Readonly<Record<string, (path: string) => string>> = {
  EEXIST: (path) => `${path} is no folder`,
  ENOENT: (path) => `${path} is a link that leads nowhere`,
  ENOTDIR: (path) => `${path} leads through something that is no folder`,
  ELOOP: (path) => `${path} is a link that leads back to itself`,
  ENAMETOOLONG: (path) => `${path} has a name that is too long`,
  EACCES: (path) => `this user may not write to ${path}`,
  EPERM: (path) => `this user may not write to ${path}`,
  EROFS: (path) => `${path} is on a disk that is read-only`,
  ENOSPC: (path) => `the disk of ${path} is full`,
};
