import { readFile } from "node:fs/promises";
import { fileTypeFromFile } from "file-type";
import type { MediaKind } from "../define/index.ts";

/** What a media file is, by its bytes. Pixels, milliseconds, frames a second. */
export interface MediaFacts {
  readonly contentType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  readonly fps: number | null;
}

const NONE = { width: null, height: null, durationMs: null, fps: null } as const;

/**
 * Looks at a file as media of a kind. Answers its facts, or in words why it is none. Images are decoded, films and sound
 * read by their container; the libraries for it are loaded when first asked for.
 */
export async function measureMedia(path: string, kind: MediaKind): Promise<MediaFacts | { readonly fault: string }> {
  const contentType = (await fileTypeFromFile(path))?.mime;
  if (contentType === undefined) return { fault: "its bytes are of no known media format" };
  try {
    if (kind === "image") return await imageFacts(path, contentType);
    return await timedFacts(path, kind, contentType);
  } catch (error) {
    return { fault: `it holds ${contentType} that cannot be read (${saidBy(error)})` };
  }
}

async function imageFacts(path: string, contentType: string): Promise<MediaFacts | { readonly fault: string }> {
  if (!contentType.startsWith("image/")) return { fault: `it holds ${contentType}, which is no image` };
  const { loadImage } = await import("@napi-rs/canvas");
  const bytes = await readFile(path);
  if (isCutShort(bytes, contentType)) return { fault: `it holds ${contentType} that is cut short` };
  const { width, height } = await loadImage(bytes);
  return { ...NONE, contentType, width, height };
}

/** Decoders fill what is missing with grey and say nothing. Other formats than these are theirs to judge. */
function isCutShort(bytes: Buffer, contentType: string): boolean {
  switch (contentType) {
    case "image/png":
      return !bytes.subarray(-1024).includes("IEND", 0, "latin1");
    case "image/jpeg":
      return !bytes.subarray(-1024).includes(Buffer.from([0xff, 0xd9]));
    case "image/webp":
      return bytes.length < 12 || bytes.readUInt32LE(4) + 8 > bytes.length;
    default:
      return false;
  }
}

async function timedFacts(
  path: string,
  kind: "audio" | "video",
  contentType: string,
): Promise<MediaFacts | { readonly fault: string }> {
  const { ALL_FORMATS, FilePathSource, Input } = await import("mediabunny");
  const isMedia = contentType.startsWith("video/") || contentType.startsWith("audio/");
  if (!isMedia) return { fault: `it holds ${contentType}, which is no ${kind}` };
  using input = new Input({ source: new FilePathSource(path), formats: ALL_FORMATS });
  const picture = await input.getPrimaryVideoTrack();
  // Packets do not show how long the last picture of a WebM stays, nor a FLAC's last frame of silence.
  const declared = /webm|flac/.test(contentType) ? await input.getDurationFromMetadata() : null;
  const durationMs = Math.round((declared ?? (await input.computeDuration())) * 1000);
  if (kind === "audio") {
    if (picture !== null) return { fault: "it holds moving pictures, not only sound" };
    // Containers of films say so even when there is only sound in them.
    return { ...NONE, contentType: contentType.replace(/^video\//, "audio/"), durationMs };
  }
  if (picture === null) return { fault: `it holds ${contentType} without moving pictures` };
  const { displayWidth: width, displayHeight: height } = picture;
  const { averagePacketRate } = await picture.computePacketStats(500);
  return { contentType, width, height, durationMs, fps: Math.round(averagePacketRate) };
}

function saidBy(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
