import { FLACDecoder } from "@wasm-audio-decoders/flac";
import type { WindowedFile } from "../probe/windowed-file.ts";
import { type Keep, no, type Unpacked, unpack } from "./unpack.ts";

/** The marker and STREAMINFO block at the beginning of a FLAC file. */
const INFO_BYTES = 42;

/** Decodes FLAC, bare or within Ogg. */
export async function unpackFlac(file: WindowedFile, keep: Keep): Promise<Unpacked> {
  const said = await announced(file);
  const unpacked = await unpack(new FLACDecoder(), copies(file), keep);
  if (!unpacked.ok || said === null || said.samples === 0) return unpacked;
  // The decoder omits a last frame of silence, which is only a few bytes.
  if (unpacked.samples < said.samples - said.largestFrame) return no("it is cut short");
  return { ...unpacked, samples: said.samples };
}

/** Samples of the whole file (0 for unknown) and of its largest frame; null where no such block leads the file. */
async function announced(file: WindowedFile) {
  const view = await file.read({ at: 0, size: INFO_BYTES });
  if (view.byteLength < INFO_BYTES || view.getUint32(0) !== 0x664c6143) return null;
  return { largestFrame: view.getUint16(10), samples: (view.getUint8(21) & 15) * 2 ** 32 + view.getUint32(22) };
}

/** The decoder works on a slice after it has answered. */
export async function* copies(file: WindowedFile): AsyncGenerator<Uint8Array> {
  for await (const slice of file.slices()) yield Uint8Array.from(slice);
}
