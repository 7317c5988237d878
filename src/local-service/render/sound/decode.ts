import { readFile } from "node:fs/promises";
import { sniff } from "../probe/formats.ts";
import { type WindowedFile, withFile } from "../probe/windowed-file.ts";
import { collected, type DecodedSound } from "./collected.ts";
import { readSound, type SoundReader } from "./read-sound.ts";
import { no } from "./unpack.ts";
import { decodeWav } from "./wav.ts";

const MAX_BYTES = 100 * 1024 * 1024;

/**
 * Decodes a sound file fully. Sound without a decoder here, such as AAC, becomes silence of its length; a caller that
 * needs the original copies its coded packets.
 */
export async function decodeSoundFile(path: string): Promise<DecodedSound> {
  return withFile(path, async (file) => {
    if (file.size > MAX_BYTES) return no(`it is larger than ${MAX_BYTES} bytes`);
    const head = await file.read({ at: 0, size: 4096 });
    const format = await sniff(new Uint8Array(head.buffer, head.byteOffset, head.byteLength));
    if ("reason" in format) return no(format.reason);
    switch (format.reader) {
      case "wav":
        return decodeWav(await readFile(path));
      case "mp3":
      case "flac":
      case "ogg":
        return fromSlices(file, format.reader);
      case "iso":
      case "webm":
        return (await import("./track.ts")).decodeTrack(path);
      default:
        return no(`${format.contentType} holds no sound`);
    }
  });
}

const fromSlices = (file: WindowedFile, reader: SoundReader) => collected((keep) => readSound(file, reader, keep));
