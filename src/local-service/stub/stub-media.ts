import { crc32, deflateSync } from "node:zlib";

/** A tiny file with its measurements. */
export interface StubMedia {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  readonly fps: number | null;
}

const SIDE_PX = 64;
const SOUND_RATE = 8_000;

function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

/** A grey square. */
function png(): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIDE_PX, 0);
  header.writeUInt32BE(SIDE_PX, 4);
  header.writeUInt8(8, 8);
  const rows = Buffer.alloc(SIDE_PX * (SIDE_PX + 1), 128);
  for (let row = 0; row < SIDE_PX; row++) rows[row * (SIDE_PX + 1)] = 0;
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [pngChunk("IHDR", header), pngChunk("IDAT", deflateSync(rows)), pngChunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([signature, ...parts]);
}

/** One second of a 200 Hz tone, 16-bit mono PCM. */
function wav(): Buffer {
  const samples = Buffer.alloc(SOUND_RATE * 2);
  for (let i = 0; i < SOUND_RATE; i++) {
    samples.writeInt16LE(Math.round(8_000 * Math.sin((2 * Math.PI * 200 * i) / SOUND_RATE)), i * 2);
  }
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + samples.length, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(SOUND_RATE, 24);
  header.writeUInt32LE(SOUND_RATE * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

/** One second of grey at 5 frames a second, H.264 in MP4, encoded once with the real renderer's encoder. */
const MP4 =
  "AAAAHGZ0eXBpc29tAAACAGlzb21hdmMxbXA0MQAAAsBtb292AAAAbG12aGQAAAAAAAAAAAAAAAAAAOEAAADhAAABAAABAAAAAAAA" +
  "AAAAAAAAAQAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACAAACTHRy" +
  "YWsAAABcdGtoZAAAAAMAAAAAAAAAAAAAAAEAAAAAAADhAAAAAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAEAAAAAAAAA" +
  "AAAAAAAAAEAAAAAAQAAAAEAAAAAAAehtZGlhAAAAIG1kaGQAAAAAAAAAAAAAAAAAAAAFAAAABVXEAAAAAAA3aGRscgAAAABtaGxy" +
  "dmlkZQAAAAAAAAAAAAAAAE1lZGlhYnVubnlWaWRlb0hhbmRsZXIAAAABiW1pbmYAAAAUdm1oZAAAAAEAAAAAAAAAAAAAACRkaW5m" +
  "AAAAHGRyZWYAAAAAAAAAAQAAAAx1cmwgAAAAAQAAAUlzdGJsAAAArXN0c2QAAAAAAAAAAQAAAJ1hdmMxAAAAAAAAAAEAAAAAAAAA" +
  "AAAAAAAAAAAAAEAAQABIAAAASAAAAAAAAAABEk1lZGlhYnVubnkgdjEuNjEuMAAAAAAAAAAAAAAAAAAAGP//AAAAIGF2Y0MBQgAK" +
  "/+EACGdCAAqmhCZAAQAFaM4DnIAAAAATY29scm5jbHgAAQABAAEAAAAAFGJ0cnQAAAAAAAAB4AAAAeAAAAAYc3R0cwAAAAAAAAAB" +
  "AAAABQAAAAEAAAAoc3RzYwAAAAAAAAACAAAAAQAAAAMAAAABAAAAAgAAAAIAAAABAAAAKHN0c3oAAAAAAAAAAAAAAAUAAAAYAAAA" +
  "CQAAAAkAAAAJAAAACQAAABhzdGNvAAAAAAAAAAIAAALkAAADDgAAABRzdHNzAAAAAAAAAAEAAAABAAAARG1kYXQAAAAUZbgRROTk" +
  "5OTk5OTk5OTk5OTk5PAAAAAFYeEUEYAAAAAFYeIUEYAAAAAFYeMUEYAAAAAFYeQUEYA=";

const size = { width: SIDE_PX, height: SIDE_PX };

export const PICTURE: StubMedia = { bytes: png(), contentType: "image/png", ...size, durationMs: null, fps: null };
export const FILM: StubMedia = {
  bytes: Buffer.from(MP4, "base64"),
  contentType: "video/mp4",
  ...size,
  durationMs: 1000,
  fps: 5,
};
export const SOUND: StubMedia = {
  bytes: wav(),
  contentType: "audio/wav",
  width: null,
  height: null,
  durationMs: 1000,
  fps: null,
};
