import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { closedWavBegin, readWavHeader } from "../../core/kit/wav-header.ts";

const BEGIN_BYTES = 65_536;

/**
 * The inputs of a call, and in place of each WAV whose header was written before its sound was known, as speech services stream it,
 * a copy in `folder` with the right sizes: by its own header ffmpeg would call its end damaged. The copies go with the call.
 */
export async function closedInputs<I extends { readonly path: string }>(
  inputs: readonly I[],
  folder: string,
): Promise<{ readonly inputs: readonly I[] } & AsyncDisposable> {
  const copies: string[] = [];
  const remove = async () => {
    for (const copy of copies) await rm(copy, { force: true });
  };
  try {
    const closed: I[] = [];
    for (const input of inputs) {
      const begin = await openWavBegin(input.path);
      if (begin === null) closed.push(input);
      else {
        const path = join(folder, `${randomUUID()}.wav`);
        copies.push(path);
        await pipeline(piecesOf(input.path, begin), createWriteStream(path));
        closed.push({ ...input, path });
      }
    }
    return { inputs: closed, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function* piecesOf(path: string, begin: Buffer): AsyncGenerator<Buffer> {
  yield begin;
  yield* createReadStream(path, { start: begin.length });
}

/** The begin of such a WAV with its right sizes; null for any other file, and for one that cannot be opened. */
async function openWavBegin(path: string): Promise<Buffer | null> {
  await using file = await open(path, "r").catch(() => null);
  if (file === null) return null;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(BEGIN_BYTES), 0, BEGIN_BYTES, 0);
  const begin = buffer.subarray(0, bytesRead);
  const header = readWavHeader(begin, (await file.stat()).size);
  return header?.isOpen === true ? closedWavBegin(begin, header) : null;
}
