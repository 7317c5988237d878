import { createRequire } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import type { H264MP4Encoder } from "h264-mp4-encoder";

export interface EncoderSettings {
  readonly width: number;
  readonly height: number;
  readonly frameRate: number;
  readonly quantizationParameter: number;
  readonly groupOfPictures: number;
}

// This thread encodes one video. It receives planar YUV 4:2:0 frames, and null after the last one. It replies to each
// frame with null, and to the final null with the MP4 file.

const FILE = "frames.mp4";
const module = createRequire(import.meta.url)("h264-mp4-encoder") as {
  createH264MP4Encoder(): Promise<H264MP4Encoder>;
};
const encoder = await module.createH264MP4Encoder();
Object.assign(encoder, workerData as EncoderSettings, { outputFilename: FILE, speed: 10 });
encoder.initialize();

parentPort?.on("message", (yuv: Uint8Array | null) => {
  if (yuv !== null) {
    encoder.addFrameYuv(yuv);
    parentPort?.postMessage(null);
    return;
  }
  encoder.finalize();
  parentPort?.postMessage(encoder.FS.readFile(FILE));
});
