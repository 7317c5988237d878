import { open } from "node:fs/promises";
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

const WINDOW_BYTES = 65_536;

/** A byte range of a file. */
export interface Stretch {
  readonly at: number;
  readonly size: number;
}

/** A file with only one window in memory at a time. */
export interface WindowedFile {
  readonly path: string;
  readonly size: number;
  /** At most 64 KiB, fewer at the end of the file. Valid until the next call. */
  read(stretch: Stretch): Promise<DataView>;
  /** The file from its beginning, in slices that are each valid until the next. */
  slices(): AsyncGenerator<Uint8Array>;
}

/** Opens the file for the duration of `use`. */
export async function withFile<T>(path: string, use: (file: WindowedFile) => Promise<T>): Promise<T> {
  await using handle = await open(path);
  const { size } = await handle.stat();
  const buffer = new Uint8Array(WINDOW_BYTES);
  let window = { at: 0, size: 0 };

  async function fill(at: number): Promise<void> {
    const { bytesRead } = await handle.read(buffer, 0, WINDOW_BYTES, at);
    window = { at, size: bytesRead };
  }

  async function read(wanted: Stretch): Promise<DataView> {
    const end = Math.min(wanted.at + wanted.size, size);
    if (wanted.at < window.at || end > window.at + window.size) await fill(wanted.at);
    const from = wanted.at - window.at;
    return new DataView(buffer.buffer, from, Math.max(0, Math.min(wanted.size, window.size - from)));
  }

  async function* slices(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < size; at += WINDOW_BYTES) {
      await fill(at);
      yield buffer.subarray(0, window.size);
    }
  }

  return await use({ path, size, read, slices });
}
