import { EncodedPacketSink, type InputTrack, type InputVideoTrack } from "mediabunny";
import type { AnnouncedMedia, ProbeResult } from "../contract.ts";
import { endsOf, type FileEnds, type Format, missingEnd, sniff } from "./formats.ts";

const MAX_BYTES = 512 * 1024 * 1024;

/**
 * Decodes a media file and returns its properties, or the reason why it cannot be read. Call this only in a worker
 * thread.
 */
export async function probeFile(path: string): Promise<ProbeResult> {
  let announced: AnnouncedMedia | undefined;
  try {
    const file = await endsOf(path);
    const format = await sniff(file);
    announced = await announcedBy(file, format);
    return { ok: true, ...(await measure(file, format)) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (announced === undefined) return { ok: false, reason };
    return { ok: false, reason: `this ${announced.kind} cannot be decoded: ${reason}`, announced };
  }
}

export async function probeHead(path: string): Promise<AnnouncedMedia> {
  const file = await endsOf(path);
  return announcedBy(file, await sniff(file));
}

async function announcedBy({ head }: FileEnds, { kind, contentType }: Format): Promise<AnnouncedMedia> {
  const { announcedSize } = await import("./probe-image.ts");
  const size = kind === "image" ? announcedSize(head) : null;
  return { kind, contentType, width: size?.width ?? null, height: size?.height ?? null, durationMs: null };
}

type Measured = Omit<Extract<ProbeResult, { ok: true }>, "ok">;

async function measure(file: FileEnds, format: Format): Promise<Measured> {
  const { path, sizeBytes } = file;
  const { kind, contentType, reader } = format;
  const missing = missingEnd(file, format);
  if (missing !== null) throw new Error(missing);
  if (sizeBytes > MAX_BYTES) throw new Error(`the file is larger than ${MAX_BYTES} bytes`);
  if (reader === "canvas") {
    const { measureImage } = await import("./probe-image.ts");
    return { kind, contentType, ...(await measureImage(file, format)), durationMs: null, fps: null };
  }
  if (reader === "demuxer") return measureTracks(path, format);
  const { readSound } = await import("../sound/decode.ts");
  const { samples, rate } = await readSound(path, reader, () => undefined);
  return { kind, contentType, width: null, height: null, durationMs: Math.round((samples / rate) * 1000), fps: null };
}

const MAX_SIDE = 8192;

async function measureTracks(path: string, { kind, contentType }: Format): Promise<Measured> {
  const { openInput } = await import("../sound/decode.ts");
  using input = openInput(path);
  const tracks = await input.getTracks();
  if (tracks.length === 0) throw new Error("the file has no tracks");
  for (const track of tracks) await readThrough(track);
  // A WebM states its duration, but not the duration of its last frame.
  const [stated, found] = [await input.getDurationFromMetadata(), await input.computeDuration()];
  if ((stated ?? 0) > found * 1.3 + 0.1) throw new Error("it is truncated");
  const isWebm = contentType === "video/webm";
  const durationMs = Math.round(((isWebm ? stated : null) ?? found) * 1000);
  const video = await input.getPrimaryVideoTrack();
  if (video === null) {
    // Film containers declare themselves as video even if they contain only sound.
    const type = contentType.replace("quicktime", "mp4").replace("x-m4v", "mp4").replace("video/", "audio/");
    return { kind: "audio", contentType: type, width: null, height: null, durationMs, fps: null };
  }
  const { displayWidth: width, displayHeight: height } = video;
  if (Math.max(width, height) > MAX_SIDE) {
    throw new Error(`${width} × ${height} is too large (at most ${MAX_SIDE} pixels per side)`);
  }
  const type = kind === "video" ? contentType : "video/mp4";
  return { kind: "video", contentType: type, width, height, durationMs, fps: await frameRateOf(video) };
}

async function readThrough(track: InputTrack): Promise<void> {
  let packets = 0;
  for await (const { data, byteLength } of new EncodedPacketSink(track).packets()) {
    if (data.byteLength === 0 || data.byteLength < byteLength) throw new Error("it is truncated");
    if (track.codec === "avc" && nalUnits(data).end !== data.byteLength) {
      throw new Error(`frame ${packets + 1} cannot be decoded`);
    }
    packets++;
  }
  if (packets === 0) throw new Error(`the ${track.type} track is empty`);
  if (packets < (await track.computePacketStats()).packetCount) throw new Error("it is truncated");
}

/** Splits an encoded frame into NAL units. `end` is the offset at which the last complete unit ends. */
export function nalUnits(picture: Uint8Array): { readonly units: readonly Uint8Array[]; readonly end: number } {
  const view = new DataView(picture.buffer, picture.byteOffset, picture.byteLength);
  const units: Uint8Array[] = [];
  let end = 0;
  while (end + 4 < picture.length) {
    const next = end + 4 + view.getUint32(end);
    if (next === end + 4 || next > picture.length) break;
    units.push(picture.subarray(end + 4, next));
    end = next;
  }
  return { units, end };
}

export async function frameRateOf(track: InputVideoTrack): Promise<number> {
  const { packetCount, averagePacketRate } = await track.computePacketStats();
  const last = await new EncodedPacketSink(track).getPacket(Number.POSITIVE_INFINITY, { metadataOnly: true });
  const seconds = (last?.timestamp ?? 0) - (await track.getFirstTimestamp());
  return Math.max(1, Math.round(seconds > 0 ? (packetCount - 1) / seconds : averagePacketRate));
}
