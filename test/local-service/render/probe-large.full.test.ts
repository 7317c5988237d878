import { open, readFile, writeFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { probe } from "../../../src/local-service/render/index.ts";
import { decodeSound } from "../../../src/local-service/render/sound/decode.ts";
import { encodeSound } from "../../../src/local-service/render/sound/render-speech.ts";
import { openBench } from "./bench.ts";
import { buzz } from "./tone.ts";

const { render, path } = await openBench();
const MEGABYTE = 1024 * 1024;

/** A file that begins with the bytes and then holds zeros, which take no room on the disk. */
async function writeSparse(name: string, bytes: Uint8Array, sizeBytes: number): Promise<void> {
  await writeFile(path(name), bytes);
  await using file = await open(path(name), "r+");
  await file.truncate(sizeBytes);
}

/** An MP4 box or a RIFF chunk header. */
function header(name: string, size: number, order: "big" | "little"): Buffer {
  const bytes = Buffer.alloc(8);
  if (order === "big") bytes.writeUInt32BE(size, 0);
  else bytes.writeUInt32LE(size, 4);
  bytes.write(name, order === "big" ? 4 : 0, "latin1");
  return bytes;
}

beforeAll(async () => {
  const picture = { prompt: "hills", aspect_ratio: "16:9", resolution: "360p" };
  await Promise.all([
    render("ok.png", { kind: "image", input: picture }),
    render("ok.mp4", { kind: "video", input: { ...picture, duration_ms: 1000 } }),
  ]);
});

describe("probing a large file", () => {
  test("a WAV of 300 MB is measured by its headers, which are held against its size", async () => {
    const dataBytes = 300 * MEGABYTE;
    const wav = await encodeSound({ rate: 48_000, channels: [new Float32Array(1)] }, "wav");
    const head = Buffer.from(wav.subarray(0, 44));
    head.writeUInt32LE(dataBytes + 36, 4);
    head.writeUInt32LE(dataBytes, 40);
    await writeSparse("long.wav", head, 44 + dataBytes);
    expect(await probe(path("long.wav"))).toMatchObject({ ok: true, durationMs: Math.round(dataBytes / 96) });
    await writeSparse("short.wav", head, 44 + dataBytes - 2);
    expect(await probe(path("short.wav"))).toMatchObject({ ok: false, reason: expect.stringContaining("truncated") });
  });

  test("a WAV whose samples come after a long chunk is measured as it is decoded", async () => {
    const plain = Buffer.from(await encodeSound(buzz(120, 1), "wav"));
    const junk = Buffer.concat([header("JUNK", MEGABYTE + 1, "little"), Buffer.alloc(MEGABYTE + 2)]);
    const bytes = Buffer.concat([plain.subarray(0, 36), junk, plain.subarray(36)]);
    bytes.writeUInt32LE(bytes.length - 8, 4);
    await writeFile(path("junk.wav"), bytes);
    await writeFile(path("plain.wav"), plain);
    expect(await decodeSound(path("junk.wav"))).toEqual(await decodeSound(path("plain.wav")));
    expect(await probe(path("junk.wav"))).toMatchObject({ ok: true, durationMs: 1000 });
  });

  test("a WAV of nothing but chunks ends the search", async () => {
    const start = Buffer.from(await encodeSound(buzz(120, 1), "wav")).subarray(0, 36);
    await writeSparse("chunks.wav", start, 40 * MEGABYTE);
    expect(await probe(path("chunks.wav"))).toMatchObject({ ok: false, reason: expect.stringContaining("data") });
  });

  test("an MP4 with 300 MB of free space is read around it", async () => {
    const film = await readFile(path("ok.mp4"));
    const size = 300 * MEGABYTE;
    await writeSparse("free.mp4", Buffer.concat([film, header("free", size, "big")]), film.length + size);
    expect(await probe(path("free.mp4"))).toMatchObject({ ok: true, kind: "video", width: 640, durationMs: 1000 });
  });

  test("an MP4 of a hundred thousand boxes is read past them", async () => {
    const film = await readFile(path("ok.mp4"));
    const boxes = Buffer.alloc(8 * 100_001, header("free", 8, "big"));
    await writeFile(path("boxes.mp4"), Buffer.concat([film, boxes]));
    expect(await probe(path("boxes.mp4"))).toMatchObject({ ok: true, durationMs: 1000 });
  });

  test("an image is not loaded when its file is too large to be one", async () => {
    await writeSparse("padded.png", await readFile(path("ok.png")), 65 * MEGABYTE);
    expect(await probe(path("padded.png"))).toMatchObject({ ok: false, reason: expect.stringContaining("at most") });
  });
});
