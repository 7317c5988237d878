import { readFile } from "node:fs/promises";
import type { MediaKind } from "../../define/index.ts";

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
 * Reads the facts of a media file of the given kind from its header or container, without decoding it; or says why it is
 * not such a file. The libraries are loaded on first use.
 */
export async function measureMedia(path: string, kind: MediaKind): Promise<MediaFacts | { readonly fault: string }> {
  const contentType = await contentTypeOf(path);
  if (contentType === undefined) return { fault: "its bytes are of no known media format" };
  try {
    if (kind === "image") return await imageFacts(path, contentType);
    return await timedFacts(path, kind, contentType);
  } catch (error) {
    return { fault: `it holds ${contentType} that cannot be read (${describedBy(error)})` };
  }
}

/** The content type that the first bytes of a file are of; undefined when they are of no known format. */
export async function contentTypeOf(path: string): Promise<string | undefined> {
  const { fileTypeFromFile } = await import("file-type");
  return (await fileTypeFromFile(path))?.mime;
}

async function imageFacts(path: string, contentType: string): Promise<MediaFacts | { readonly fault: string }> {
  if (!contentType.startsWith("image/")) return { fault: `it holds ${contentType}, which is no image` };
  const { imageSize } = await import("image-size");
  const bytes = await readFile(path);
  if (isCutShort(bytes, contentType)) return { fault: `it holds ${contentType} that is cut short` };
  const { width, height, orientation = 1 } = imageSize(bytes);
  if (width === 0 || height === 0) return { fault: `it holds ${contentType} without a size` };
  // From 5 on, EXIF turns the picture on its side.
  return { ...NONE, contentType, ...(orientation < 5 ? { width, height } : { width: height, height: width }) };
}

/** A header alone has a size; the end of the file shows whether the picture is whole. */
function isCutShort(bytes: Buffer, contentType: string): boolean {
  switch (contentType) {
    case "image/png":
      return !bytes.subarray(-1024).includes("IEND", 0, "latin1");
    case "image/jpeg":
      return !bytes.subarray(-1024).includes(Buffer.from([0xff, 0xd9]));
    case "image/webp":
      return bytes.length < 12 || bytes.readUInt32LE(4) + 8 > bytes.length;
    case "image/gif":
      return bytes.at(-1) !== 0x3b;
    case "image/avif":
      return endOfBoxes(bytes) > bytes.length;
    default:
      return false;
  }
}

/** Where the last box of an ISO media file says that it ends. */
function endOfBoxes(bytes: Buffer): number {
  let end = 0;
  while (end + 8 <= bytes.length) {
    const size = bytes.readUInt32BE(end);
    // 0: up to the end of the file.
    if (size === 0) return bytes.length;
    end += size === 1 && end + 16 <= bytes.length ? Number(bytes.readBigUInt64BE(end + 8)) : Math.max(size, 8);
  }
  return end;
}

async function timedFacts(
  path: string,
  kind: "audio" | "video",
  contentType: string,
): Promise<MediaFacts | { readonly fault: string }> {
  const { ALL_FORMATS, FilePathSource, Input } = await import("./media-container.ts");
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

function describedBy(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
