import { createReadStream } from "node:fs";

const MOST_BYTES = 64 * 2 ** 20;

/** Throws after `mostBytes`, because a device may never end. */
export async function readNamed(path: string, mostBytes = MOST_BYTES): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of createReadStream(path)) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error(`it is larger than ${mostBytes / 2 ** 20} MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
