import { fsync } from "node:fs";
import { type FileHandle, open as openByNode } from "node:fs/promises";
import { promisify } from "node:util";

const synced = promisify(fsync);

/** What Yarn's Plug'n'Play leaves out of the handles that it puts in place of Node's. */
const MISSING = {
  sync(this: FileHandle): Promise<void> {
    return synced(this.fd);
  },
  [Symbol.asyncDispose](this: FileHandle): Promise<void> {
    return this.close();
  },
};

/** `open` of `node:fs/promises`, under Yarn's Plug'n'Play too. */
export async function open(...args: Parameters<typeof openByNode>): Promise<FileHandle> {
  const handle = await openByNode(...args);
  if (!(Symbol.asyncDispose in handle)) Object.assign(Object.getPrototypeOf(handle), MISSING);
  return handle;
}
