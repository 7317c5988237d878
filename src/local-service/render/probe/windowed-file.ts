import { open } from "node:fs/promises";

const WINDOW_BYTES = 65_536;

/** A byte range of a file. */
export interface Stretch {
  readonly at: number;
  readonly size: number;
}

/** A file with only one window in memory at a time. */
export interface WindowedFile {
  readonly path: string;
  readonly size: number;
  /** At most 64 KiB, fewer at the end of the file. Valid until the next call. */
  read(stretch: Stretch): Promise<DataView>;
  /** The file from its beginning, in slices that are each valid until the next. */
  slices(): AsyncGenerator<Uint8Array>;
}

/** Opens the file for the duration of `look`. */
export async function withFile<T>(path: string, look: (file: WindowedFile) => Promise<T>): Promise<T> {
  await using handle = await open(path);
  const { size } = await handle.stat();
  const buffer = new Uint8Array(WINDOW_BYTES);
  let window = { at: 0, size: 0 };

  async function fill(at: number): Promise<void> {
    const { bytesRead } = await handle.read(buffer, 0, WINDOW_BYTES, at);
    window = { at, size: bytesRead };
  }

  async function read(wanted: Stretch): Promise<DataView> {
    const end = Math.min(wanted.at + wanted.size, size);
    if (wanted.at < window.at || end > window.at + window.size) await fill(wanted.at);
    const from = wanted.at - window.at;
    return new DataView(buffer.buffer, from, Math.max(0, Math.min(wanted.size, window.size - from)));
  }

  async function* slices(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < size; at += WINDOW_BYTES) {
      await fill(at);
      yield buffer.subarray(0, window.size);
    }
  }

  return await look({ path, size, read, slices });
}
