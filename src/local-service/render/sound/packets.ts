import { BufferSource, EncodedPacketSink, Input, MP4, QTFF } from "mediabunny";

/** A coded packet of sound. Times are in seconds. */
export interface SoundPacket {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly length: number;
}

/** AAC, to be copied into another file without loss. */
export interface CodedSound {
  readonly config: AudioDecoderConfig;
  readonly packets: readonly SoundPacket[];
  readonly durationMs: number;
}

/** Extracts the AAC track of an MP4 or M4A file; null when it has none. */
export async function readCodedSound(bytes: Uint8Array): Promise<CodedSound | null> {
  using input = new Input({ source: new BufferSource(bytes), formats: [MP4, QTFF] });
  const track = await input.getPrimaryAudioTrack();
  const config = await track?.getDecoderConfig();
  if (track?.codec !== "aac" || !config) return null;
  const packets: SoundPacket[] = [];
  for await (const packet of new EncodedPacketSink(track).packets()) {
    packets.push({ bytes: packet.data, start: packet.timestamp, length: packet.duration });
  }
  return { config, packets, durationMs: (await track.computeDuration()) * 1000 };
}
