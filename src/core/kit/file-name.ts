import { createRequire } from "node:module";
import { own } from "./lookup.ts";

const reserved = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$/i;
const longestBytes = 120;

/** Converts a name to a file name that is valid on every system and has no folder part. */
export function safeFileName(requested: string): string {
  const replaced = requested
    .normalize("NFC")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must go
    .replace(/[\u0000-\u001f\u007f-\u009f<>:"/\\|?*\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "_")
    .trimStart()
    .replace(/^\.+/, (dots) => "_".repeat(dots.length));
  const shortened = shorten(replaced).replace(/[. ]+$/, "");
  if (shortened === "") return "file";
  return reserved.test(shortened) ? `_${shortened}` : shortened;
}

function shorten(name: string): string {
  if (Buffer.byteLength(name) <= longestBytes) return name;
  const extension = /\.[A-Za-z0-9]{1,8}$/.exec(name)?.[0] ?? "";
  let stem = "";
  let sizeBytes = Buffer.byteLength(extension);
  for (const character of name.slice(0, name.length - extension.length)) {
    sizeBytes += Buffer.byteLength(character);
    if (sizeBytes > longestBytes) break;
    stem += character;
  }
  return stem + extension;
}

const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/**
 * Returns whether an id can be a run's id. It must be a safe file name on every system, because files and folders are
 * named after runs.
 */
export function isRunId(id: string): boolean {
  return RUN_ID.test(id) && safeFileName(id) === id;
}

const load = createRequire(import.meta.url);

/** File extensions for content types that the MIME table lacks or maps to an unusual extension. */
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

/** Content types that a browser renders as a page, running any scripts in the file. */
const ACTIVE = new Set(["image/svg+xml"]);

/**
 * Returns the file extension for a content type. A type that is neither media nor listed gets `.bin`, so that a double
 * click does not execute the file.
 */
export function fileExtension(contentType: string): string {
  const mediaType = contentType.split(";")[0]!.trim().toLowerCase();
  const known = own(preferred, mediaType);
  if (known !== undefined) return `.${known}`;
  if (!/^(?:image|video|audio)\//.test(mediaType) || ACTIVE.has(mediaType)) return ".bin";
  const found = (load("mime") as typeof import("mime")).default.getExtension(mediaType);
  return found === null || found === undefined ? ".bin" : `.${found}`;
}
