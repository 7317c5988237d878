import {
  EncodedPacketSink,
  FilePathSource,
  Input,
  type InputTrack,
  type InputVideoTrack,
  MP4,
  QTFF,
  WEBM,
} from "mediabunny";
import type { ProbeResult } from "../contract.ts";
import type { Format, WindowedFile } from "./formats.ts";
import { canDecode, frameRateOf, isDecodableSize, openDecoder } from "./pictures.ts";

const MAX_ELEMENTS = 100_000;
const SEGMENT = 0x18538067;
const CLUSTER = 0x1f43b675;
/**
 * Top-level elements of a segment: SeekHead, Info, Tracks, Cluster, Cues, Chapters, Tags, Attachments, Void, CRC-32.
 */
const PARTS: ReadonlySet<number> = new Set([
  0x114d9b74,
  0x1549a966,
  0x1654ae6b,
  CLUSTER,
  0x1c53bb6b,
  0x1043a770,
  0x1254c367,
  0x1941a469,
  0xec,
  0xbf,
]);

/** Why a WebM file's elements do not end where the file ends; null when they do. */
export async function segmentFault(file: WindowedFile): Promise<string | null> {
  const header = await elementAt(file, 0);
  const segment = header && (await elementAt(file, header.end));
  if (!segment || segment.id !== SEGMENT) return "it has no segment";
  const end = segment.isOpen ? file.size : segment.end;
  if (end > file.size) return "it is cut short";
  let at = segment.start;
  for (let count = 0; at < end; count++) {
    if (count === MAX_ELEMENTS) return `it has more than ${MAX_ELEMENTS} parts`;
    const part = await elementAt(file, at);
    if (!part || !PARTS.has(part.id)) return "one of its parts is of no known kind";
    // Live writers leave a cluster's size open; the demuxer finds the next one.
    if (part.isOpen) return part.id === CLUSTER ? null : "one of its parts has no size";
    at = part.end;
  }
  return at === end ? null : "it is cut short";
}

interface Element {
  readonly id: number;
  readonly start: number;
  readonly end: number;
  readonly isOpen: boolean;
}

async function elementAt({ read }: WindowedFile, at: number): Promise<Element | null> {
  const view = await read({ at, size: 12 });
  const lengthAt = (byte: number) => (byte < view.byteLength ? Math.clz32(view.getUint8(byte)) - 23 : 9);
  const idLength = lengthAt(0);
  const sizeLength = lengthAt(idLength);
  const length = idLength + sizeLength;
  if (idLength > 4 || sizeLength > 8 || length > view.byteLength) return null;
  let id = 0;
  for (let byte = 0; byte < idLength; byte++) id = id * 256 + view.getUint8(byte);
  let size = view.getUint8(idLength) & (0xff >> sizeLength);
  for (let byte = idLength + 1; byte < length; byte++) size = size * 256 + view.getUint8(byte);
  const isOpen = size >= 2 ** (7 * sizeLength) - 1;
  return { id, start: at + length, end: at + length + size, isOpen };
}

const MAX_SIDE = 8192;
const MAX_KEY_PICTURES = 30;
const MAX_BOXES = 100_000;

/** Reads every packet of every track, one at a time, and decodes its key frames where their profile is supported. */
export async function probeMovie(file: WindowedFile, format: Format): Promise<ProbeResult> {
  const noun = format.kind === "video" ? "video" : "sound";
  const isWebm = format.reader === "webm";
  const fault = await (isWebm ? segmentFault(file) : boxFault(file));
  const no = (reason: string): ProbeResult => ({ ok: false, reason: `this ${noun} cannot be decoded: ${reason}` });
  if (fault !== null) return no(fault);
  // An error between two reads surfaces in the next read; unhandled, it would end the thread.
  const source = new FilePathSource(file.path, { handleUnhandledError: () => undefined });
  try {
    using input = new Input({ source, formats: isWebm ? [WEBM] : [MP4, QTFF] });
    const tracks = await input.getTracks();
    if (tracks.length === 0) return no("it has no tracks");
    for (const track of tracks) await readThrough(track);
    // A WebM states its duration, but not that of its last frame.
    const seconds = (isWebm ? await input.getDurationFromMetadata() : null) ?? (await input.computeDuration());
    const durationMs = Math.round(seconds * 1000);
    const video = await input.getPrimaryVideoTrack();
    if (video === null) return audioOnly(isWebm ? "audio/webm" : "audio/mp4", durationMs);
    return {
      ok: true,
      kind: "video",
      contentType: format.kind === "video" ? format.contentType : "video/mp4",
      durationMs,
      ...(await pictureFacts(video)),
    };
  } catch (error) {
    return no(error instanceof Error ? error.message : String(error));
  }
}

/** Why the file's boxes do not end where the file ends; null when they do. */
async function boxFault({ size: total, read }: WindowedFile): Promise<string | null> {
  let at = 0;
  for (let boxes = 0; at + 8 <= total; boxes++) {
    if (boxes === MAX_BOXES) return `it has more than ${MAX_BOXES} boxes`;
    const header = await read({ at, size: 16 });
    const short = header.getUint32(0);
    if (short === 0) return null;
    const size = short === 1 && header.byteLength >= 16 ? Number(header.getBigUint64(8)) : short;
    if (size < 8) return "it is cut short";
    at += size;
  }
  return at === total ? null : "it is cut short";
}

function audioOnly(contentType: string, durationMs: number): ProbeResult {
  return { ok: true, kind: "audio", contentType, width: null, height: null, durationMs, fps: null };
}

async function readThrough(track: InputTrack): Promise<void> {
  let packets = 0;
  for await (const packet of new EncodedPacketSink(track).packets()) {
    if (packet.data.byteLength === 0 || packet.data.byteLength < packet.byteLength) throw new Error("it is cut short");
    packets++;
  }
  if (packets === 0) throw new Error(`its ${track.type} track is empty`);
}

async function pictureFacts(track: InputVideoTrack) {
  const { displayWidth: width, displayHeight: height } = track;
  if (Math.max(width, height) > MAX_SIDE)
    throw new Error(`${width} × ${height} is too large (at most ${MAX_SIDE} a side)`);
  await decodeKeyPictures(track);
  return { width, height, fps: await frameRateOf(track) };
}

async function decodeKeyPictures(track: InputVideoTrack): Promise<void> {
  const config = await track.getDecoderConfig();
  if (track.codec !== "avc" || !config?.description) return;
  const description = asBytes(config.description);
  if (!canDecode(description)) return;
  const sink = new EncodedPacketSink(track);
  const decoder = openDecoder(description);
  let packet = await sink.getFirstKeyPacket();
  if (packet === null) throw new Error("it has no key picture");
  for (let i = 0; packet !== null && i < MAX_KEY_PICTURES; i++) {
    if (!isDecodableSize(packet.data)) return;
    if (decoder.decode(packet.data) === null)
      throw new Error(`its picture at ${packet.timestamp.toFixed(2)} s cannot be decoded`);
    packet = await sink.getNextKeyPacket(packet);
  }
}

function asBytes(source: ArrayBufferView | ArrayBufferLike): Uint8Array {
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
}
