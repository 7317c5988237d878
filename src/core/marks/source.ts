import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { UnmarkableError } from "./unmarkable.ts";

/** A file's bytes, read in pieces. */
export interface Source {
  readonly sizeBytes: number;
  /** @throws UnmarkableError where the file ends before */
  readonly read: (at: number, length: number) => Promise<Buffer>;
}

interface OpenSource extends Source, AsyncDisposable {}

/** Opens a plain file. Throws Node's own errors. @throws UnmarkableError where it is a folder, a pipe or a device */
export async function openSource(path: string): Promise<OpenSource> {
  // A pipe that nobody writes to would be waited for.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new UnmarkableError("it is not a plain file");
    return { sizeBytes: stats.size, read: reader(file, stats.size), [Symbol.asyncDispose]: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Read at once, bytes: parts of a file are often a few bytes each, and there may be tens of thousands of them. */
const BLOCK_BYTES = 64 * 1024;

function reader(file: FileHandle, size: number): Source["read"] {
  let [blockAt, block]: [number, Buffer] = [0, Buffer.alloc(0)];
  const readAt = async (at: number, length: number) => {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, at);
    if (bytesRead < length) throw new UnmarkableError("it got shorter while it was read");
    return buffer;
  };
  return async (at, length) => {
    if (at + length > size) throw new UnmarkableError("it ends too early");
    if (length > BLOCK_BYTES) return readAt(at, length);
    if (at < blockAt || at + length > blockAt + block.length)
      [blockAt, block] = [at, await readAt(at, Math.min(BLOCK_BYTES, size - at))];
    return Buffer.from(block.subarray(at - blockAt, at - blockAt + length));
  };
}
