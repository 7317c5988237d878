import { BufferSource, EncodedPacketSink, Input, type InputTrack, type InputVideoTrack, MP4, QTFF } from "mediabunny";
import type { ProbeResult } from "../contract.ts";
import { canDecode, openDecoder } from "./decode-h264.ts";

const MAX_SIDE = 8192;

export const MOVIE_TYPES: ReadonlySet<string> = new Set([
  "video/mp4",
  "video/quicktime",
  "audio/mp4",
  "audio/x-m4a",
  "video/x-m4v",
]);

/** Reads every packet of every track and decodes the first picture where its profile allows. */
export async function probeMovie(bytes: Uint8Array, sniffed: string): Promise<ProbeResult> {
  try {
    using input = new Input({ source: new BufferSource(bytes), formats: [MP4, QTFF] });
    const tracks = await input.getTracks();
    if (tracks.length === 0) return no("it has no tracks");
    for (const track of tracks) await readThrough(track);
    const durationMs = Math.round((await input.computeDuration()) * 1000);
    const video = await input.getPrimaryVideoTrack();
    if (video === null) return audioOnly(durationMs);
    return {
      ok: true,
      kind: "video",
      contentType: sniffed.startsWith("video/") ? sniffed : "video/mp4",
      durationMs,
      ...(await pictureFacts(video)),
    };
  } catch (error) {
    return no(error instanceof Error ? error.message : String(error));
  }
}

function audioOnly(durationMs: number): ProbeResult {
  return { ok: true, kind: "audio", contentType: "audio/mp4", width: null, height: null, durationMs, fps: null };
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
  const { averagePacketRate } = await track.computePacketStats();
  await decodeFirst(track);
  return { width, height, fps: Math.round(averagePacketRate) };
}

async function decodeFirst(track: InputVideoTrack): Promise<void> {
  const config = await track.getDecoderConfig();
  if (track.codec !== "avc" || !config?.description) return;
  const description = asBytes(config.description);
  if (!canDecode(description)) return;
  const first = await new EncodedPacketSink(track).getFirstPacket();
  if (first === null || openDecoder(description).decode(first.data) === null) {
    throw new Error("its first picture cannot be decoded");
  }
}

function asBytes(source: ArrayBufferView | ArrayBufferLike): Uint8Array {
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
}

const no = (reason: string): ProbeResult => ({ ok: false, reason: `this video cannot be decoded: ${reason}` });
