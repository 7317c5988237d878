import { registerMp3Encoder } from "@mediabunny/mp3-encoder";
import { AudioSample, AudioSampleSource, BufferTarget, Mp3OutputFormat, Output } from "mediabunny";
import { lengthOf, type Sound } from "./sound.ts";

const BITRATE = 96_000;
let registered = false;

/** One MP3 file of the first channel. */
export async function encodeMp3(sound: Sound): Promise<Uint8Array> {
  if (!registered) registerMp3Encoder();
  registered = true;
  const target = new BufferTarget();
  const output = new Output({ format: new Mp3OutputFormat(), target });
  const source = new AudioSampleSource({ codec: "mp3", bitrate: BITRATE });
  output.addAudioTrack(source);
  await output.start();
  const data = new Float32Array(sound.channels[0].subarray(0, lengthOf(sound)));
  const sample = new AudioSample({
    data,
    format: "f32-planar",
    numberOfChannels: 1,
    sampleRate: sound.rate,
    timestamp: 0,
  });
  await source.add(sample);
  sample.close();
  await output.finalize();
  if (target.buffer === null) throw new Error("the encoder made no MP3");
  return new Uint8Array(target.buffer);
}
