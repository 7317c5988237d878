import { ADTS, FilePathSource, FLAC, Input, MATROSKA, MP3, MP4, OGG, QTFF, WAVE, WEBM } from "mediabunny";
import { readWavHeader } from "../../kit/media-headers.ts";
import { Bytes } from "./whole.ts";

// Listed individually to leave out playlist readers, which open other files and URLs.
const formats = [MP4, QTFF, WEBM, MATROSKA, WAVE, MP3, ADTS, OGG, FLAC];

/** Containers whose duration is read from metadata, because packets do not state how long the last frame lasts. */
const STATED = /webm|flac/;

export async function readTimed(path: string, contentType: string) {
  const streamedMs = streamedWavMs(path);
  if (streamedMs !== null) return { picture: null, durationMs: streamedMs };
  // A read error between two reads appears at the next read. Without a handler, it would also end the thread.
  const source = new FilePathSource(path, { handleUnhandledError: () => undefined });
  using input = new Input({ source, formats });
  const track = await input.getPrimaryVideoTrack();
  const stated = STATED.test(contentType) ? await input.getDurationFromMetadata() : null;
  const durationMs = Math.round((stated ?? (await lengthOf(input))) * 1000);
  if (track === null) return { picture: null, durationMs };
  const { displayWidth: width, displayHeight: height } = track;
  const { averagePacketRate, packetCount } = await track.computePacketStats(500);
  if (packetCount === 0) return { picture: null, durationMs };
  return { picture: { width, height, fps: Math.round(averagePacketRate) }, durationMs };
}

/** Returns the duration in seconds. Returns 0 for an empty file, because Mediabunny would search it endlessly. */
async function lengthOf(input: Input): Promise<number> {
  const sound = await input.getPrimaryAudioTrack();
  const isEmpty = (await sound?.computePacketStats(1))?.packetCount === 0;
  return isEmpty && (await input.getPrimaryVideoTrack()) === null ? 0 : input.computeDuration();
}

const WAV_HEADER_BYTES = 65_536;

function streamedWavMs(path: string): number | null {
  using file = new Bytes(path);
  const header = readWavHeader(file.head(WAV_HEADER_BYTES), file.size);
  if (header === null || !header.isOpen || header.byteRate === 0) return null;
  return Math.round((header.dataBytes / header.byteRate) * 1000);
}
