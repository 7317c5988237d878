import { crc32, deflateSync } from "node:zlib";

const pictures = new Map<string, Uint8Array>();

export function greyPng(widthPx: number, heightPx = widthPx): Uint8Array {
  const key = `${widthPx}x${heightPx}`;
  const bytes = pictures.get(key) ?? drawnPng(widthPx, heightPx);
  pictures.set(key, bytes);
  return bytes;
}

function drawnPng(widthPx: number, heightPx: number): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(widthPx, 0);
  header.writeUInt32BE(heightPx, 4);
  header.set([8, 0], 8); // 8 bits a sample, grayscale
  const rows = Buffer.alloc((widthPx + 1) * heightPx, 0x80);
  for (let y = 0; y < heightPx; y++) rows[y * (widthPx + 1)] = 0; // filter: none
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  const chunks = [pngChunk("IHDR", header), pngChunk("IDAT", deflateSync(rows)), pngChunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([signature, ...chunks]);
}

export function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

const RATE = 8000;
const WAV_HEADER_BYTES = 44;

const PERIOD = 400;

export function plainWav(durationMs: number, amplitude = 0): Uint8Array {
  const count = Math.round((durationMs / 1000) * RATE);
  const samplesBytes = count * 2;
  const wav = Buffer.alloc(WAV_HEADER_BYTES + samplesBytes);
  if (amplitude > 0) {
    const period = Int16Array.from({ length: PERIOD }, (_, at) => {
      return Math.round(amplitude * Math.sin((at * 2 * Math.PI * 180) / RATE));
    });
    wav.fill(new Uint8Array(period.buffer), WAV_HEADER_BYTES);
  }
  wav.write("RIFF\0\0\0\0WAVEfmt ", "latin1");
  wav.writeUInt32LE(36 + samplesBytes, 4);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20); // PCM
  wav.writeUInt16LE(1, 22); // mono
  wav.writeUInt32LE(RATE, 24);
  wav.writeUInt32LE(RATE * 2, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write("data", 36, "latin1");
  wav.writeUInt32LE(samplesBytes, 40);
  return wav;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

const MACROBLOCK_PX = 16;

export function greyMp4(durationMs: number, size: Size, fps = 24): Uint8Array {
  const columns = Math.ceil(size.width / MACROBLOCK_PX);
  const rows = Math.ceil(size.height / MACROBLOCK_PX);
  const count = Math.max(1, Math.floor((durationMs * fps) / 1000));
  const frames = Array.from({ length: count }, (_, at) =>
    at === 0 ? greyFrame(columns * rows) : sameFrame(at, columns * rows),
  );
  const samples = frames.map((frame) => Buffer.concat([u32(frame.length), frame]));
  const shown = { width: size.width + (size.width % 2), height: size.height + (size.height % 2) };
  const type = box("ftyp", Buffer.from("isom"), u32(512), Buffer.from("isomavc1mp41"));
  const head = (dataAt: number) =>
    Buffer.concat([type, movie({ durationMs: Math.round(durationMs), fps, size: shown, samples, dataAt })]);
  return Buffer.concat([head(head(0).length + 8), box("mdat", ...samples)]);
}

const u16 = (...values: readonly number[]) => Buffer.concat(values.map((value) => Buffer.of(value >> 8, value & 255)));
const u32 = (...values: readonly number[]) => {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, at) => void bytes.writeUInt32BE(value, 4 * at));
  return bytes;
};

function box(type: string, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([u32(8 + body.length), Buffer.from(type, "latin1"), body]);
}

interface Movie {
  readonly durationMs: number;
  readonly fps: number;
  readonly size: Size;
  readonly samples: readonly Buffer[];
  readonly dataAt: number;
}

/**
 * Builds the `moov` box (ISO/IEC 14496-12) with one track, in which the last sample lasts for the rest of the duration.
 */
function movie({ durationMs, fps, size: { width, height }, samples, dataAt }: Movie): Buffer {
  const matrix = u32(65_536, 0, 0, 0, 65_536, 0, 0, 0, 0x40000000);
  const scale = fps * 1000;
  const parameters = [sequenceParameters(width, height), PICTURE_PARAMETERS];
  const [sps, pps] = parameters.map((unit) => Buffer.concat([u16(unit.length), unit])) as [Buffer, Buffer];
  const avcC = box("avcC", Buffer.of(1, 66, 0xc0, LEVEL, 0xff, 0xe1), sps, Buffer.of(1), pps);
  const picture = [Buffer.alloc(6), u16(1), Buffer.alloc(16), u16(width, height), u32(72 << 16, 72 << 16, 0), u16(1)];
  const avc1 = box("avc1", ...picture, Buffer.alloc(32), u16(24, 0xffff), avcC);
  const lastMs = durationMs * fps - (samples.length - 1) * 1000;
  const table = box(
    "stbl",
    box("stsd", u32(0, 1), avc1),
    box("stts", u32(0, 2, samples.length - 1, 1000, 1, lastMs)),
    box("stss", u32(0, 1, 1)),
    box("stsc", u32(0, 1, 1, samples.length, 1)),
    box("stsz", u32(0, 0, samples.length, ...samples.map(({ length }) => length))),
    box("stco", u32(0, 1, dataAt)),
  );
  const information = box(
    "minf",
    box("vmhd", u32(1, 0, 0)),
    box("dinf", box("dref", u32(0, 1), box("url ", u32(1)))),
    table,
  );
  const media = box(
    "mdia",
    box("mdhd", u32(0, 0, 0, scale, durationMs * fps), u16(0x55c4, 0)),
    box("hdlr", u32(0, 0), Buffer.from("vide"), u32(0, 0, 0), Buffer.from("grey\0")),
    information,
  );
  const track = box("tkhd", u32(3, 0, 0, 1, 0, durationMs, 0, 0, 0, 0), matrix, u32(width << 16, height << 16));
  const rate = u32(65_536, 0x01000000, 0, 0);
  const header = box("mvhd", u32(0, 0, 0, 1000, durationMs), rate, matrix, Buffer.alloc(24), u32(2));
  return box("moov", header, box("trak", track, media));
}

const LEVEL = 51;

/**
 * Packs a unit of an H.264 stream (ITU-T H.264, 7.3): strings of `0` and `1` as they are, numbers as Exp-Golomb codes,
 * then the stop bit.
 */
function unit(type: number, ...parts: readonly (string | number)[]): Buffer {
  const golomb = (value: number) => {
    const digits = (value + 1).toString(2);
    return digits.padStart(2 * digits.length - 1, "0");
  };
  const bits = `${parts.map((part) => (typeof part === "string" ? part : golomb(part))).join("")}1`;
  const bytes = bits.match(/.{1,8}/g) ?? [];
  return Buffer.from([type, ...bytes.map((byte) => Number.parseInt(byte.padEnd(8, "0"), 2))]);
}

function sequenceParameters(width: number, height: number): Buffer {
  const profile = [66, 0xc0, LEVEL].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const [columns, rows] = [width, height].map((side) => Math.ceil(side / MACROBLOCK_PX)) as [number, number];
  // Cropped at the right and at the bottom, in units of two pixels.
  const [right, bottom] = [(columns * MACROBLOCK_PX - width) / 2, (rows * MACROBLOCK_PX - height) / 2];
  // Frame numbers of 4 bits; display order equals coding order; one reference frame; whole frames.
  return unit(0x67, profile, 0, 0, 2, 1, "0", columns - 1, rows - 1, "1", "1", "1", 0, right, 0, bottom, "0");
}

const PICTURE_PARAMETERS = unit(0x68, 0, 0, "0", "0", 0, 0, 0, "0", "00", 0, 0, 0, "0", "0", "0");

/** A gray frame: its macroblocks are predicted without neighbors and have no residual. */
function greyFrame(macroblocks: number): Buffer {
  return unit(0x65, 0, 7, 0, "0000", 0, "00", 0, ...Array.from({ length: macroblocks }, () => "00100111"));
}

function sameFrame(at: number, macroblocks: number): Buffer {
  return unit(0x61, 0, 5, 0, (at % 16).toString(2).padStart(4, "0"), "0", "0", "0", 0, macroblocks);
}

type Bounds = { readonly [annotation: string]: number };

/** Amplitude of a tone that is quiet but not silent. Some services reject silence. */
const QUIET = 6000;

/** Makes a gray image or video, or a quiet tone, of the requested size or the nearest allowed one. */
export function placeholderMedium(
  kind: "image" | "video" | "audio",
  wanted: { readonly durationMs: number; readonly ratio: number; readonly sidePx?: number | undefined },
  bounds: Bounds,
): Uint8Array {
  const { min_aspect_ratio: narrowest = 0, max_aspect_ratio: widest = Infinity } = bounds;
  const size = sizeWithin(Math.min(Math.max(wanted.ratio, narrowest), widest), bounds, wanted.sidePx);
  if (kind === "image") return greyPng(size.width, size.height);
  const {
    min_duration_ms: least = 0,
    max_duration_ms: most = Infinity,
    max_file_size_bytes: mostBytes = Infinity,
  } = bounds;
  const longest = kind === "video" ? most : Math.min(most, wavMsOf(mostBytes));
  const durationMs = Math.min(Math.max(wanted.durationMs, least), longest);
  return kind === "audio" ? plainWav(durationMs, QUIET) : greyMp4(durationMs, size);
}

function wavMsOf(bytes: number): number {
  return ((bytes - WAV_HEADER_BYTES) * 1000) / (2 * RATE);
}

const USUAL_PX = 512;

function sizeWithin(ratio: number, bounds: Bounds, largestPx?: number): Size {
  const { min_dimension_px: min = 1, max_dimension_px: max = Infinity } = bounds;
  const long = Math.max(ratio, 1 / ratio);
  const wanted = largestPx === undefined ? USUAL_PX : largestPx / long;
  const shorter = Math.round(Math.min(Math.max(wanted, min), Math.max(1, max / long)));
  const longer = Math.round(Math.min(shorter * long, max));
  return ratio >= 1 ? { width: longer, height: shorter } : { width: shorter, height: longer };
}

/** Base64 of an MP4: one second of 64 by 64 gray pixels, H.264 at 5 frames per second, with a quiet AAC tone. */
export const HEARD_MP4 =
  "AAAAIGZ0eXBpc29tAAACAGlzb21pc28yYXZjMW1wNDEAAAXsbW9vdgAAAGxtdmhkAAAAAAAAAAAAAAAAAAAD6AAAA+gAAQAAAQAA" +
  "AAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAwAA" +
  "Arp0cmFrAAAAXHRraGQAAAADAAAAAAAAAAAAAAABAAAAAAAAA+gAAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAABAAAA" +
  "AAAAAAAAAAAAAABAAAAAAEAAAABAAAAAAAAkZWR0cwAAABxlbHN0AAAAAAAAAAEAAAPoAAAQAAABAAAAAAIybWRpYQAAACBtZGhk" +
  "AAAAAAAAAAAAAAAAAAAoAAAAKABVxAAAAAAALWhkbHIAAAAAAAAAAHZpZGUAAAAAAAAAAAAAAABWaWRlb0hhbmRsZXIAAAAB3W1p" +
  "bmYAAAAUdm1oZAAAAAEAAAAAAAAAAAAAACRkaW5mAAAAHGRyZWYAAAAAAAAAAQAAAAx1cmwgAAAAAQAAAZ1zdGJsAAAAwXN0c2QA" +
  "AAAAAAAAAQAAALFhdmMxAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAEAAQABIAAAASAAAAAAAAAABDExhdmMgbGlieDI2NAAAAAAA" +
  "AAAAAAAAAAAAAAAAAAAAGP//AAAAN2F2Y0MBZAAK/+EAGmdkAAqscgREJsBEAAADAAQAAAMAKDxIlhGAAQAGaOhDjyyL/fj4AAAA" +
  "ABBwYXNwAAAAAQAAAAEAAAAUYnRydAAAAAAAAALQAAAC0AAAABhzdHRzAAAAAAAAAAEAAAAFAAAIAAAAABRzdHNzAAAAAAAAAAEA" +
  "AAABAAAAOGN0dHMAAAAAAAAABQAAAAEAABAAAAAAAQAAKAAAAAABAAAQAAAAAAEAAAAAAAAAAQAACAAAAAAoc3RzYwAAAAAAAAAC" +
  "AAAAAQAAAAIAAAABAAAAAgAAAAEAAAABAAAAKHN0c3oAAAAAAAAAAAAAAAUAAAAkAAAADwAAAA0AAAANAAAADQAAACBzdGNvAAAA" +
  "AAAAAAQAAAYcAAAHKwAACLkAAAovAAACgXRyYWsAAABcdGtoZAAAAAMAAAAAAAAAAAAAAAIAAAAAAAAD6AAAAAAAAAAAAAAAAQEA" +
  "AAAAAQAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAACRlZHRzAAAAHGVsc3QAAAAAAAAAAQAAA+gA" +
  "AAQAAAEAAAAAAfltZGlhAAAAIG1kaGQAAAAAAAAAAAAAAAAAAB9AAAAjQFXEAAAAAAAtaGRscgAAAAAAAAAAc291bgAAAAAAAAAA" +
  "AAAAAFNvdW5kSGFuZGxlcgAAAAGkbWluZgAAABBzbWhkAAAAAAAAAAAAAAAkZGluZgAAABxkcmVmAAAAAAAAAAEAAAAMdXJsIAAA" +
  "AAEAAAFoc3RibAAAAH5zdHNkAAAAAAAAAAEAAABubXA0YQAAAAAAAAABAAAAAAAAAAAAAgAQAAAAAB9AAAAAAAA2ZXNkcwAAAAAD" +
  "gICAJQACAASAgIAXQBUAAAAAACuUAAArlAWAgIAFFYhW5QAGgICAAQIAAAAUYnRydAAAAAAAACuUAAArlAAAACBzdHRzAAAAAAAA" +
  "AAIAAAAIAAAEAAAAAAEAAANAAAAANHN0c2MAAAAAAAAAAwAAAAEAAAABAAAAAQAAAAIAAAACAAAAAQAAAAQAAAAEAAAAAQAAADhz" +
  "dHN6AAAAAAAAAAAAAAAJAAAA3AAAAOcAAACaAAAAvwAAAKoAAABSAAAAogAAALUAAAC2AAAAIHN0Y28AAAAAAAAABAAABk8AAAc4" +
  "AAAIxgAACjwAAAAac2dwZAEAAAByb2xsAAAAAgAAAAH//wAAABxzYmdwAAAAAHJvbGwAAAABAAAACQAAAAEAAAA9dWR0YQAAADVt" +
  "ZXRhAAAAAAAAACFoZGxyAAAAAAAAAABtZGlyYXBwbAAAAAAAAAAAAAAAAAhpbHN0AAAACGZyZWUAAAaHbWRhdAAAACBliIEAAl/+" +
  "963fgTaBWu6Vzi0la3kA5MtsETUVp4u9wQAAAAtBmgiNiH///qmdNAEkUqzp5vK/t/33y4lVJJCIkRIiSDEsVxLFcxZhi08xaeZi" +
  "p2LQWeorT1k2FeOeto93UCBSxRZPCje0+ndY6+0LiUNdTS4mla+DAwMDAwN8m0tpbS2hgYGBgY2bNgyJFKbNm5USKWU2blllllll" +
  "llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll" +
  "lllllllllllllllllllllllllllllllllllllllllllll4AAAAAJQZ4QRxBD/wLHARKc2sl9ZL6yXgqyXz/+9/p9+uL1d3d8f2//" +
  "rf5/Xzxq9Xq74/v//W/z+vnjV6vVzr+//9L/P488avjiur4E3civMeeeeeeeeeeeY88HmJDzzAKa27CePMR9GQFmBUKhoVxoV8qF" +
  "fLXQofL5a6APl8qKAPl8vpQFfL5fTXQAPl8vl9KKDAAfL5Qq+n0ooAAA+Xy+XyE01vYXntNbdWEEDEyiJ6iJ6iJ6iIPPa6Ig89ro" +
  "AeeooIc/0+lBAfR576a6CjXOTZs2NQfy165v5fy2bEJ48qj6uqeeeeeeedSp55559k88888/AS7yi+ISOe/4/r/+PXGrku5JJJJP" +
  "XxJz5kT9v8WB7+4GQBIDqwDO6NAHxmDvvCD/GYD3hA+Gwn30AfDYHvCB8Nge8IHxmA99AHxmCffQB8ZgPf3A+MwCwB8ZgPfQB8Zg" +
  "Pf3A+MwASwABPv7gfGYJ9/cD4zBPv7hGTMB7+4HxmAzwn8fCfw/gLgA/geTwmWBjml/D+B5PCfSBwAAAAAkBnhgmiH//BMQA8jKE" +
  "QBEQBEaTEKCEKBESCb//p/+n/9H3+MP/j/2kIRP/j/2j/0/939P8+/9//eA1tespQExbZhNNNNNNNM751pppppppgwMDAwMDAyaa" +
  "aaYMDAwMDAwMDJppppgwMDAw8GBgYGBgYGBgYGO+Tu4YGBgYGHgwMDAwMDAwMDAwMDAwXAYGBgYGBgYGBgYGBgYGBgYGBYAwMDAw" +
  "MDAwMDAwALVAAGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgZwD4MohAERAEsiRBN//3v/w//o+vKT/j/mRERP/r/94//b/7v7f7" +
  "f2/b/8YOaecHnJSABOB8uMUUUUUUUUUQFVsUQiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiAQAIooooooooooooooo" +
  "ooogAYARRRRRRRRRRRRRRRRRBQNWrVq1atWrVqACkwASyyyyyyyyyyyygYGBgYGBgYGBmQMDAzPAAAAACQGeGG1If/8ExQD2MZBi" +
  "IAokEiEBiEBCEAiJVf/2P/w//o++tXP+n4/n/4z48/kBISEhISEhISElNo7uEhJwJCTgSEhISEhISEnHcyt3cJCQkJPaBABIAApw" +
  "ABwA9jKQYiAJRAIhAYkQIiQTK/+v/9r/+j46kf9v/aIiJ/+F/+s/6f9/6fp/94AYGBpZZZZZSVSICKIfL5TzzzzzzzzzgMPPPPPP" +
  "PPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPOWA0Dfv379+/fv379+/fv3794UAMDAwMGFgwMGBgASyAADAwMDAwMDAwMDAwMDAw" +
  "MDAwMDAwMDAwMDAwM4ABLDKL4xCQlV9v/T/8+tS7kkkkkiJGcEn5/UO6+rT01M6u4BLoGmsX9WN6tPShnV3LVp6amV918enpqZX3" +
  "Xqx6amV916semq6vuvjx6arq+6/qx6atNfdf1Y4Vaa5L+rHBemtF/ViurT0yX9XcurTWi/qxATSAO6+rT01X9XcurT0oZ1dy1ael" +
  "DK+5atPTUzq7r1Y9NV3V3Xx6emrTcAGPTVdX3Xx49NV1fdfHjhVprkvjxwq4AUYyi+ZWevt/p1dy5LkiSRIkSIgGufK05zbnGgdr" +
  "IYNMLc4rnytN825xUGVpk25yGDK03NuchgytNzbnIYMrTczrkMD7TczrnNA+1zzOuc0D7XPM65zQIa58rrnNAhrnmW5zbkNc+Vbn" +
  "NuQ1z5Vs5tyGufKtzm3Ia58rTnNucVz5Wmc25xXPlaZzbnFc+VpnNucVBlaZNuch58rTc25yGDK03NuchgytNzOuQwPtNzOuQwPt" +
  "Nzc=";
