import { crc32, deflateSync } from "node:zlib";

/** A grey picture, a square unless its height is given. */
export function greyPng(widthPx: number, heightPx = widthPx): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(widthPx, 0);
  header.writeUInt32BE(heightPx, 4);
  header.set([8, 0], 8); // 8 bits a sample, greyscale
  const rows = Buffer.alloc((widthPx + 1) * heightPx, 0x80);
  for (let y = 0; y < heightPx; y++) rows[y * (widthPx + 1)] = 0; // filter: none
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  const chunks = [pngChunk("IHDR", header), pngChunk("IDAT", deflateSync(rows)), pngChunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([signature, ...chunks]);
}

/** A part of a PNG, with its length and checksum. */
export function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

const RATE = 8000;

/** Sound of that length, 16-bit mono PCM; silence when the amplitude is 0, else a tone of 180 Hz. */
export function plainWav(durationMs: number, amplitude = 0): Uint8Array {
  const count = Math.round((durationMs / 1000) * RATE);
  const samples = Buffer.alloc(count * 2);
  for (let at = 0; amplitude > 0 && at < count; at++)
    samples.writeInt16LE(Math.round(amplitude * Math.sin((at * 2 * Math.PI * 180) / RATE)), at * 2);
  const header = Buffer.alloc(44);
  header.write("RIFF\0\0\0\0WAVEfmt ", "latin1");
  header.writeUInt32LE(36 + samples.length, 4);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20); // PCM
  header.writeUInt16LE(1, 22); // mono
  header.writeUInt32LE(RATE, 24);
  header.writeUInt32LE(RATE * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

/** One second of grey at 5 frames a second, H.264 in MP4, encoded once by the local service; base64. */
export const GREY_MP4 =
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
