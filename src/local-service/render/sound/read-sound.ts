import { MPEGDecoder } from "mpg123-decoder";
import type { Format } from "../probe/formats.ts";
import type { WindowedFile } from "../probe/windowed-file.ts";
import { type Keep, type Unpacked, unpack } from "./unpack.ts";

/** A format that holds nothing but sound. */
export type SoundReader = Extract<Format["reader"], "mp3" | "flac" | "ogg">;

/** Decodes a file of sound slice by slice. */
export async function readSound(file: WindowedFile, reader: SoundReader, keep: Keep): Promise<Unpacked> {
  switch (reader) {
    case "mp3":
      return unpack(new MPEGDecoder(), file.slices(), keep);
    case "flac":
      return (await import("./flac.ts")).unpackFlac(file, keep);
    case "ogg":
      return (await import("./ogg.ts")).unpackOgg(file, keep);
    default:
      return reader satisfies never;
  }
}
