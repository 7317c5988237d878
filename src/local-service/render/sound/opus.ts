import { EncodedPacketSink, type InputAudioTrack } from "mediabunny";
import { OpusDecoder } from "opus-decoder";
import { type Keep, no, type SoundDecoder, type Unpacked, unpack } from "./unpack.ts";

/** Opus is always decoded at this rate. */
const RATE = 48_000;

/** Decodes an Opus track of any container, at the container's declared length. */
export async function unpackOpus(track: InputAudioTrack, keep: Keep): Promise<Unpacked> {
  const description = (await track.getDecoderConfig())?.description;
  if (!(description instanceof Uint8Array)) return no("its Opus header is missing");
  const unpacked = await unpack(decoderOf(description), packetsOf(track), keep);
  if (!unpacked.ok) return unpacked;
  return { ...unpacked, samples: Math.round((await track.computeDuration()) * RATE) };
}

function decoderOf(head: Uint8Array): SoundDecoder {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const channels = view.getUint8(9);
  const preSkip = view.getUint16(10, true);
  // Beyond stereo, the header also maps streams to channels.
  const streams =
    view.getUint8(18) === 0
      ? { streamCount: 1, coupledStreamCount: channels - 1, channelMappingTable: channels === 1 ? [0] : [0, 1] }
      : {
          streamCount: view.getUint8(19),
          coupledStreamCount: view.getUint8(20),
          channelMappingTable: [...head.subarray(21, 21 + channels)],
        };
  const decoder = new OpusDecoder({ channels, preSkip, ...streams });
  return {
    ready: decoder.ready,
    decode: (packet) => decoder.decodeFrame(packet),
    free: () => decoder.free(),
  };
}

async function* packetsOf(track: InputAudioTrack): AsyncGenerator<Uint8Array> {
  for await (const packet of new EncodedPacketSink(track).packets()) yield packet.data;
}
