import { openSource } from "../source.ts";
import { UnmarkableError } from "../unmarkable.ts";

const HEAD_BYTES = 4100;

/** Media types that can be signed, by the ending that belongs to a file's bytes. */
const TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  mp4: "video/mp4",
  mov: "video/quicktime",
  m4a: "audio/mp4",
  wav: "audio/wav",
  mp3: "audio/mpeg",
  flac: "audio/flac",
};

/** A file's media type by its bytes; null where it can hold no credentials. Throws Node's own errors. */
export async function signableType(path: string): Promise<string | null> {
  const { fileTypeFromBuffer } = await import("file-type");
  try {
    await using source = await openSource(path);
    const found = await fileTypeFromBuffer(await source.read(0, Math.min(HEAD_BYTES, source.sizeBytes)));
    return TYPES[found?.ext ?? ""] ?? null;
  } catch (error) {
    if (error instanceof UnmarkableError) return null;
    throw error;
  }
}
