import { own } from "../../../own.ts";
import { Bytes, type Whole } from "./bytes.ts";
import { wholeAvif, wholeEbml, wholeFilm, wholeWav } from "./whole-container.ts";
import { wholeAac, wholeFlac, wholeMp3, wholeOgg } from "./whole-frames.ts";
import { wholeGif, wholeJpeg, wholePng, wholeWebp } from "./whole-image.ts";

/** By content type, as the first bytes show it. */
const FORMATS: Readonly<Record<string, (file: Bytes) => Whole>> = {
  "image/png": wholePng,
  "image/apng": wholePng,
  "image/jpeg": wholeJpeg,
  "image/gif": wholeGif,
  "image/webp": wholeWebp,
  "image/avif": wholeAvif,
  "image/heic": wholeAvif,
  "video/mp4": wholeFilm,
  "video/x-m4v": wholeFilm,
  "video/quicktime": wholeFilm,
  "audio/mp4": wholeFilm,
  "audio/x-m4a": wholeFilm,
  "video/webm": wholeEbml,
  "audio/webm": wholeEbml,
  "video/matroska": wholeEbml,
  "audio/wav": wholeWav,
  "audio/vnd.wave": wholeWav,
  "audio/mpeg": wholeMp3,
  "audio/aac": wholeAac,
  "audio/flac": wholeFlac,
  "audio/ogg": wholeOgg,
  "video/ogg": wholeOgg,
};

/**
 * What a file lacks at its end by its own structure; null for a whole one, and for a format that does not show it. What
 * follows a whole file's end, and sizes that its writer did not know, are no fault.
 */
export function missingEnd(path: string, contentType: string): string | null {
  const whole = own(FORMATS, contentType.split(";")[0]!);
  if (whole === undefined) return null;
  using file = new Bytes(path);
  return whole(file).lacks;
}
