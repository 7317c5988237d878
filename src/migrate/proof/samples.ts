import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import type { MediaKind } from "../../plan/plan.ts";
import type { PipelineInput } from "../expression.ts";

const SIDE_PX = 512;
const RATE = 8000;
const SOUND_MS = 3000;

/** One second of grey, H.264 in MP4. */
const FILM =
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

/** What stands in for the inputs of a migrated pipeline while it is priced and proven. */
export interface SampleOptions {
  /** Folder that the media are written to. */
  readonly folder: string;
  /** A v3 voice, for inputs that take one. */
  readonly voice: string;
}

/** A value for every input: small valid media, some words, a voice. Inputs of a kind get files of their own. */
export async function sampleInput(
  inputs: readonly PipelineInput[],
  { folder, voice }: SampleOptions,
): Promise<{ readonly [name: string]: string }> {
  const written = new Map<MediaKind, Promise<string>>();
  const fileOf = (kind: MediaKind) => {
    const known = written.get(kind) ?? writeSample(kind, folder);
    written.set(kind, known);
    return known;
  };
  const values = inputs.map(async (input) => [input.name, await valueFor(input)] as const);
  return Object.fromEntries(await Promise.all(values));

  async function valueFor(input: PipelineInput): Promise<string> {
    switch (input.is) {
      case "file":
        return fileOf(input.kind);
      case "voice":
        return voice;
      case "text":
        return "A lighthouse at dusk.".slice(0, input.maxLength ?? undefined);
      case "choice":
        return input.values[0] ?? "";
      default:
        return input satisfies never;
    }
  }
}

async function writeSample(kind: MediaKind, folder: string): Promise<string> {
  const [name, bytes] = sampleMedia(kind);
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

function sampleMedia(kind: MediaKind): readonly [name: string, bytes: Uint8Array] {
  switch (kind) {
    case "image":
      return ["sample.png", greyPng()];
    case "audio":
      return ["sample.wav", toneWav()];
    case "video":
      return ["sample.mp4", Buffer.from(FILM, "base64")];
    default:
      return kind satisfies never;
  }
}

function greyPng(): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIDE_PX, 0);
  header.writeUInt32BE(SIDE_PX, 4);
  header.writeUInt8(8, 8);
  const rows = Buffer.alloc((SIDE_PX + 1) * SIDE_PX, 0x80);
  for (let y = 0; y < SIDE_PX; y++) rows[y * (SIDE_PX + 1)] = 0;
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** A quiet tone: some services refuse silence. */
function toneWav(): Uint8Array {
  const count = (RATE * SOUND_MS) / 1000;
  const samples = Buffer.alloc(count * 2);
  for (let at = 0; at < count; at++)
    samples.writeInt16LE(Math.round(6000 * Math.sin((at * 2 * Math.PI * 180) / RATE)), at * 2);
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
