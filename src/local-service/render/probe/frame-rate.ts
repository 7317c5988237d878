import { EncodedPacketSink, type InputVideoTrack } from "mediabunny";

/** Frames per second, from the intervals between them: not every container states the duration of the last one. */
export async function frameRateOf(track: InputVideoTrack): Promise<number> {
  const stamps: number[] = [];
  for await (const { timestamp } of new EncodedPacketSink(track).packets(undefined, undefined, {
    metadataOnly: true,
  })) {
    stamps.push(timestamp);
  }
  stamps.sort((a, b) => a - b);
  const seconds = stamps.at(-1)! - stamps[0]!;
  const rate = seconds > 0 ? (stamps.length - 1) / seconds : (await track.computePacketStats()).averagePacketRate;
  return Math.max(1, Math.round(rate));
}
