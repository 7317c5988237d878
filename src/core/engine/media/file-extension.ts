import { createRequire } from "node:module";
import { own } from "../../kit/own.ts";

const load = createRequire(import.meta.url);

/** Where the table of types knows none, or one that people do not use. */
const preferred: { readonly [contentType: string]: string } = {
  "audio/mpeg": "mp3",
  "audio/mp4": "m4a",
  "audio/ogg": "ogg",
  "audio/flac": "flac",
  "audio/vnd.wave": "wav",
  "audio/webm": "webm",
  "video/quicktime": "mov",
  "application/x-subrip": "srt",
  "text/vtt": "vtt",
  "text/plain": "txt",
};

/** Drawn by a browser as a page, scripts and all. */
const ACTIVE = new Set(["image/svg+xml"]);

/**
 * The usual file ending of a content type with its dot. What is no picture, film or sound becomes `.bin`: the type is a
 * service's word, and a double click must not run what it sent.
 */
export function fileExtension(contentType: string): string {
  const mediaType = contentType.split(";")[0]!.trim().toLowerCase();
  const known = own(preferred, mediaType);
  if (known !== undefined) return `.${known}`;
  if (!/^(?:image|video|audio)\//.test(mediaType) || ACTIVE.has(mediaType)) return ".bin";
  // Its tables are large, and few programs name files.
  const found = (load("mime") as typeof import("mime")).default.getExtension(mediaType);
  return found === null || found === undefined ? ".bin" : `.${found}`;
}
