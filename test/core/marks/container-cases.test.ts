import { execFile } from "node:child_process";
import { copyFile, lstat, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { markFile, readMarks } from "../../../src/core/marks/index.ts";
import { decodedHash, exiftool, ffmpeg } from "../../support/media-programs.ts";
import { makeSamples, type Samples } from "./samples.ts";

const run = promisify(execFile);
const TRAINED = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia";
const trained = { digitalSourceType: "trainedAlgorithmicMedia" } as const;
const C2PA_UUID = Buffer.from("d8fec3d61b0e483c92975828877ec481", "hex");

let samples: Samples;
let folder: string;

beforeAll(async () => {
  samples = await makeSamples([
    "plain.png",
    "plain.jpg",
    "lossy.webp",
    "plain.mp4",
    "quick.mp4",
    "plain.mov",
    "plain.wav",
    "tagged.mp3",
  ]);
  folder = await mkdtemp(join(tmpdir(), "marks-"));
});
afterAll(async () => {
  await samples[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

let count = 0;
/** A file of this test's own. */
async function fileOf(bytes: Uint8Array | string): Promise<string> {
  const path = join(folder, `${count++}${typeof bytes === "string" ? extname(bytes) : ""}`);
  if (typeof bytes === "string") await copyFile(samples.path(bytes), path);
  else await writeFile(path, bytes);
  return path;
}
const bytesOf = (name: string) => readFile(samples.path(name));

function isoBox(type: string, data: Uint8Array): Buffer {
  const head = Buffer.from(`\0\0\0\0${type}`, "latin1");
  head.writeUInt32BE(8 + data.length, 0);
  return Buffer.concat([head, data]);
}

function riffWith(riff: Buffer, type: string, data: Buffer): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`, "latin1");
  head.writeUInt32LE(data.length, 4);
  const grown = Buffer.concat([riff, head, data]);
  grown.writeUInt32LE(grown.length - 8, 4);
  return grown;
}

describe("XMP of others", () => {
  const names = ["plain.png", "plain.jpg", "lossy.webp", "plain.mp4", "quick.mp4", "plain.mov"] as const;
  const write = (paths: readonly string[], ...tags: readonly string[]) =>
    run("exiftool", ["-q", "-overwrite_original", ...tags, ...paths]);

  test("stays, with the mark beside it", async () => {
    const paths = await Promise.all(names.map(fileOf));
    await write(paths, "-XMP-dc:Creator=Iris", "-XMP-xmp:Label=boat");
    const hashes = await Promise.all(paths.map(decodedHash));
    const before = await exiftool(...paths);
    for (const path of paths) expect(await markFile(path, trained)).toEqual({ status: "marked" });
    expect(await Promise.all(paths.map(decodedHash))).toEqual(hashes);
    for (const [index, read] of (await exiftool(...paths)).entries())
      expect(read, names[index]).toMatchObject({
        "XMP-iptcExt:DigitalSourceType": TRAINED,
        "XMP-dc:Creator": "Iris",
        "XMP-xmp:Label": "boat",
        // XMP of QuickTime lies where no byte may be added; that there are two packets then is what exiftool remarks.
        "ExifTool:Validate": names[index] === "plain.mov" ? "0 1 0" : before[index]?.["ExifTool:Validate"],
      });
  });

  test("that names a source type already is kept byte for byte", async () => {
    const paths = await Promise.all(names.map(fileOf));
    const said = "http://cv.iptc.org/newscodes/digitalsourcetype/digitalCapture";
    await write(paths, `-XMP-iptcExt:DigitalSourceType=${said}`);
    for (const path of paths) {
      const before = await readFile(path);
      expect(await markFile(path, trained)).toEqual({ status: "kept", digitalSourceType: said });
      expect((await readFile(path)).equals(before)).toBe(true);
    }
  });

  test("that is compressed in a PNG is read", async () => {
    const path = await fileOf("plain.png");
    await write([path], "-z", `-XMP-iptcExt:DigitalSourceType=${TRAINED}`);
    expect((await readMarks(path)).digitalSourceType).toBe(TRAINED);
  });
});

describe("a signed file is left byte for byte", () => {
  const cases: readonly (readonly [string, string, (bytes: Buffer) => Buffer])[] = [
    [
      "PNG",
      "plain.png",
      (bytes) => insertAt(bytes, 33, Buffer.concat([Buffer.from("\0\0\0\x04caBXjumb\0\0\0\0", "latin1")])),
    ],
    ["JPEG", "plain.jpg", (bytes) => insertAt(bytes, 2, Buffer.from("ffeb000c4a500001000000010000", "hex"))],
    ["WebP", "lossy.webp", (bytes) => riffWith(bytes, "C2PA", Buffer.from("jumb"))],
    ["WAV", "plain.wav", (bytes) => riffWith(bytes, "C2PA", Buffer.from("jumb"))],
    [
      "MP4",
      "plain.mp4",
      (bytes) => Buffer.concat([bytes, isoBox("uuid", Buffer.concat([C2PA_UUID, Buffer.alloc(30)]))]),
    ],
    ["MP3", "tagged.mp3", (bytes) => withFrame(bytes, "GEOB", Buffer.from("\0application/c2pa\0\0\0jumb", "latin1"))],
  ];

  test.each(cases)("%s", async (_, name, sign) => {
    const path = await fileOf(sign(await bytesOf(name)));
    const before = await readFile(path);
    expect(await readMarks(path)).toMatchObject({ contentCredentials: "embedded", problem: null });
    const { status, ...rest } = await markFile(path, trained);
    expect(status).toBe("left");
    expect(rest).toMatchObject({ reason: expect.stringContaining("is signed (C2PA)") });
    expect((await readFile(path)).equals(before)).toBe(true);
  });

  test("where its manifest lies elsewhere, too", async () => {
    const path = await fileOf("plain.jpg");
    await markFile(path, trained);
    const property = ["Iptc4xmpExt:DigitalSourceType", "Iptc4xmpExt4567890:provenance"] as const;
    await writeFile(path, (await readFile(path)).toString("latin1").replaceAll(...property), "latin1");
    expect((await readMarks(path)).contentCredentials).toBe("linked");
    expect((await markFile(path, trained)).status).toBe("left");
  });
});

describe("boxes of MP4", () => {
  test("a last box without a size gets one", async () => {
    const film = await bytesOf("quick.mp4");
    const at = film.indexOf("mdat") - 4;
    film.writeUInt32BE(0, at);
    const path = await fileOf(film);
    const before = await decodedHash(path);
    expect(await markFile(path, trained)).toEqual({ status: "marked" });
    expect((await readFile(path)).readUInt32BE(at)).toBe(film.length - at);
    expect(await decodedHash(path)).toBe(before);
    expect((await readMarks(path)).digitalSourceType).toBe(TRAINED);
  });

  test("one with a size of 64 bits is passed", async () => {
    const wide = Buffer.concat([Buffer.from("\0\0\0\x01free\0\0\0\0\0\0\0\x18", "latin1"), Buffer.alloc(8)]);
    const path = await fileOf(Buffer.concat([await bytesOf("plain.mp4"), wide]));
    expect(await markFile(path, trained)).toEqual({ status: "marked" });
    expect((await readMarks(path)).digitalSourceType).toBe(TRAINED);
  });

  test("the index of fragments stays last", async () => {
    const index = isoBox("mfra", isoBox("mfro", Buffer.from([0, 0, 0, 0, 0, 0, 0, 24])));
    const path = await fileOf(Buffer.concat([await bytesOf("plain.mp4"), index]));
    expect(await markFile(path, trained)).toEqual({ status: "marked" });
    expect((await readFile(path)).subarray(-index.length).equals(index)).toBe(true);
  });

  test.each([
    ["one that is smaller than its header", "0000000466726565"],
    ["one that leads past the end", "7fffffff66726565"],
    ["one of 64 bits that leads nowhere", "0000000166726565ffffffffffffffff"],
    ["one of 64 bits that leads backwards", "00000001667265650000000000000000"],
  ])("%s: the file is left, and says where it is damaged", async (_, hex) => {
    const film = await bytesOf("plain.mp4");
    const path = await fileOf(Buffer.concat([film, Buffer.from(hex, "hex")]));
    const reason = expect.stringContaining(`damaged at byte ${film.length}`);
    expect(await markFile(path, trained)).toMatchObject({ status: "left", reason });
  });
});

describe("sound", () => {
  test("of a WAV that was written without knowing its length is all there", async () => {
    const path = join(folder, "streamed.wav");
    const { stdout } = await run("ffmpeg", ["-v", "error", "-f", "lavfi", "-i", "sine=d=0.2", "-f", "wav", "-"], {
      encoding: "buffer",
    });
    await writeFile(path, stdout);
    expect(stdout.readUInt32LE(4)).toBe(0xffff_ffff);
    const before = await decodedHash(path);
    expect(await markFile(path, trained)).toEqual({ status: "marked" });
    expect(await decodedHash(path)).toBe(before);
    expect((await readMarks(path)).digitalSourceType).toBe(TRAINED);
  });

  test("a second mark of the same file's XMP in a WAV and an MP3 takes the place of the first", async () => {
    for (const name of ["plain.wav", "tagged.mp3"]) {
      const path = await fileOf(name);
      await markFile(path, trained);
      const other = (await readFile(path)).toString("latin1").replaceAll("DigitalSourceType", "DigitalSourceTipe");
      await writeFile(path, Buffer.from(other, "latin1"));
      expect(await markFile(path, trained)).toEqual({ status: "marked" });
      const text = (await readFile(path)).toString("latin1");
      expect(text.split("<?xpacket begin").length, name).toBe(2);
      expect((await readMarks(path)).digitalSourceType).toBe(TRAINED);
    }
  });
});

describe("what is marked", () => {
  test("is the file that a link leads to, and the link stays one", async () => {
    const path = await fileOf("plain.png");
    const link = join(folder, "link.png");
    await symlink(path, link);
    expect(await markFile(link, trained)).toEqual({ status: "marked" });
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect((await readMarks(path)).digitalSourceType).toBe(TRAINED);
  });

  test("is no folder, no pipe, no device and no text", async () => {
    const pipe = join(folder, "pipe");
    await run("mkfifo", [pipe]);
    const text = await fileOf(Buffer.from("A red boat"));
    for (const path of [folder, pipe, "/dev/zero", text, await fileOf(Buffer.alloc(0))])
      expect((await markFile(path, trained)).status, path).toBe("left");
    await expect(markFile(join(folder, "none.png"), trained)).rejects.toThrow("ENOENT");
  });

  test("is no picture in boxes of films, whose XMP lies elsewhere", async () => {
    const avif = isoBox("ftyp", Buffer.from("avif\0\0\0\0avifmif1", "latin1"));
    expect(await markFile(await fileOf(avif), trained)).toMatchObject({ status: "left" });
  });

  test("leaves nothing beside it", async () => {
    const own = await mkdtemp(join(folder, "own-"));
    await ffmpeg("-f", "lavfi", "-i", "sine=d=0.1", join(own, "a.wav"));
    await markFile(join(own, "a.wav"), trained);
    expect(await readdir(own)).toEqual(["a.wav"]);
  });
});

function insertAt(bytes: Buffer, at: number, inserted: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at)]);
}

/** The tag of version 2.3 with one more frame in front; its size stays below 128 in each of two bytes. */
function withFrame(bytes: Buffer, type: string, data: Buffer): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0\0\0`, "latin1");
  head.writeUInt32BE(data.length, 4);
  const grown = insertAt(bytes, 10, Buffer.concat([head, data]));
  const size = grown[8]! * 128 + grown[9]! + head.length + data.length;
  grown.set([size >> 7, size & 0x7f], 8);
  return grown;
}
