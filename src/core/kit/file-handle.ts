import { fsync, readFileSync, statSync } from "node:fs";
import { type FileHandle, open as openByNode } from "node:fs/promises";
import { promisify } from "node:util";

const synced = promisify(fsync);

const MISSING = {
  sync(this: FileHandle): Promise<void> {
    return synced(this.fd);
  },
  [Symbol.asyncDispose](this: FileHandle): Promise<void> {
    return this.close();
  },
};

/** `open` of `node:fs/promises`, which also works under Yarn's Plug'n'Play. */
export async function open(...args: Parameters<typeof openByNode>): Promise<FileHandle> {
  const handle = await openByNode(...args);
  if (!(Symbol.asyncDispose in handle)) Object.assign(Object.getPrototypeOf(handle), MISSING);
  return handle;
}

/** Parses a JSON file that the user named. Refuses devices, because reading one may never end. */
export function readJsonFile(path: string): unknown {
  const found = statSync(path);
  if (found.isCharacterDevice() || found.isBlockDevice()) throw new Error("it is a device, not a file");
  return JSON.parse(readFileSync(path, "utf8"));
}
