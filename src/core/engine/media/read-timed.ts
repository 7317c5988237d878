import { ADTS, FilePathSource, FLAC, Input, MATROSKA, MP3, MP4, OGG, QTFF, WAVE, WEBM } from "mediabunny";
import { readWavHeader } from "../../kit/wav-header.ts";
import { Bytes } from "./whole/bytes.ts";

// Named one by one, so that the build leaves those out that read playlists, which name other files and addresses.
const formats = [MP4, QTFF, WEBM, MATROSKA, WAVE, MP3, ADTS, OGG, FLAC];

/** Formats whose packets do not show how long the last picture stays, or the last frame of silence. */
const STATED = /webm|flac/;

/** What a container of sound or film says, without decoding it. `picture` null: there is sound only. */
export async function readTimed(path: string, contentType: string) {
  const streamedMs = streamedWavMs(path);
  if (streamedMs !== null) return { picture: null, durationMs: streamedMs };
  // An error between two reads shows in the next one; unhandled it would end the thread.
  const source = new FilePathSource(path, { handleUnhandledError: () => undefined });
  using input = new Input({ source, formats });
  const track = await input.getPrimaryVideoTrack();
  const stated = STATED.test(contentType) ? await input.getDurationFromMetadata() : null;
  const durationMs = Math.round((stated ?? (await input.computeDuration())) * 1000);
  if (track === null) return { picture: null, durationMs };
  const { displayWidth: width, displayHeight: height } = track;
  const { averagePacketRate } = await track.computePacketStats(500);
  return { picture: { width, height, fps: Math.round(averagePacketRate) }, durationMs };
}

const WAV_HEADER_BYTES = 65_536;

/** Length of a WAV whose header was written before its sound was there, by the sound; null for any other file. */
function streamedWavMs(path: string): number | null {
  using file = new Bytes(path);
  const header = readWavHeader(file.head(WAV_HEADER_BYTES), file.size);
  if (header === null || !header.isOpen || header.byteRate === 0) return null;
  return Math.round((header.dataBytes / header.byteRate) * 1000);
}
