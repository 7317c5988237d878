import { fileTypeFromBuffer } from "file-type";

/** An accepted upload format. */
export interface Format {
  readonly kind: "image" | "video" | "audio";
  readonly contentType: string;
  /** The reader for it. */
  readonly reader: "image" | "iso" | "webm" | "wav" | "mp3" | "flac" | "ogg";
}

const image = (type: string): Format => ({ kind: "image", contentType: `image/${type}`, reader: "image" });
const video = (type: string, reader: Format["reader"]): Format => ({
  kind: "video",
  contentType: `video/${type}`,
  reader,
});
const audio = (type: string, reader: Format["reader"]): Format => ({
  kind: "audio",
  contentType: `audio/${type}`,
  reader,
});

/** By the sniffer's name for it. */
const FORMATS: ReadonlyMap<string, Format> = new Map([
  ["image/png", image("png")],
  ["image/apng", image("png")],
  ["image/jpeg", image("jpeg")],
  ["image/webp", image("webp")],
  ["image/gif", image("gif")],
  ["image/avif", image("avif")],
  ["video/mp4", video("mp4", "iso")],
  ["video/x-m4v", video("x-m4v", "iso")],
  ["video/quicktime", video("quicktime", "iso")],
  ["video/webm", video("webm", "webm")],
  ["audio/wav", audio("wav", "wav")],
  ["audio/vnd.wave", audio("wav", "wav")],
  ["audio/mpeg", audio("mpeg", "mp3")],
  ["audio/mp4", audio("mp4", "iso")],
  ["audio/x-m4a", audio("mp4", "iso")],
  ["audio/ogg", audio("ogg", "ogg")],
  ["audio/ogg; codecs=opus", audio("ogg", "ogg")],
  ["audio/flac", audio("flac", "flac")],
]);

export const ACCEPTED = "PNG, JPEG, WebP, GIF, AVIF, MP4, MOV, WebM, WAV, MP3, M4A, OGG or FLAC";

/** The format by a file's first bytes, or why it is not accepted. */
export async function sniff(head: Uint8Array): Promise<Format | { readonly reason: string }> {
  const type = (await fileTypeFromBuffer(head).catch(() => undefined))?.mime ?? signed(head);
  if (type === undefined) return { reason: `the bytes are of no known media format (${ACCEPTED})` };
  return FORMATS.get(type) ?? { reason: `${type} is not supported (${ACCEPTED})` };
}

/** The sniffer reads a PNG's chunks to detect animation, and fails on a damaged one. */
function signed(head: Uint8Array): string | undefined {
  return Buffer.from(head.subarray(0, 8)).toString("hex") === "89504e470d0a1a0a" ? "image/png" : undefined;
}
