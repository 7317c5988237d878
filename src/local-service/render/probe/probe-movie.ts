import { BufferSource, EncodedPacketSink, Input, type InputTrack, type InputVideoTrack, MP4, QTFF } from "mediabunny";
import type { ProbeResult } from "../contract.ts";
import { canDecode, isDecodableSize, openDecoder } from "./decode-h264.ts";

const MAX_SIDE = 8192;
const MAX_KEY_PICTURES = 30;

export const MOVIE_TYPES: ReadonlySet<string> = new Set([
  "video/mp4",
  "video/quicktime",
  "audio/mp4",
  "audio/x-m4a",
  "video/x-m4v",
]);

/** Reads every packet of every track and decodes its key pictures where their profile allows. */
export async function probeMovie(bytes: Uint8Array, sniffed: string): Promise<ProbeResult> {
  if (!reachesItsEnd(bytes)) return no("it is cut short");
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

/** Whether the boxes of the file, one after the other, end where the file ends. */
function reachesItsEnd(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at + 8 <= bytes.length) {
    const short = view.getUint32(at);
    if (short === 0) return true;
    const size = short === 1 && at + 16 <= bytes.length ? Number(view.getBigUint64(at + 8)) : short;
    if (size < 8) return false;
    at += size;
  }
  return at === bytes.length;
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
  await decodeKeyPictures(track);
  return { width, height, fps: Math.round(averagePacketRate) };
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

const no = (reason: string): ProbeResult => ({ ok: false, reason: `this video cannot be decoded: ${reason}` });
