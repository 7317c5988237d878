import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createCanvas } from "@napi-rs/canvas";
import { expect, test } from "vitest";
import { MediaReader, measureMedia, readingFor } from "../../../../src/core/engine/media/media-reader.ts";
import { FILM } from "../../../../src/local-service/start.ts";
import { greyPng, newFolder, PIXEL, plainWav } from "../../../support/engine.ts";
import { LOOPING_AVIF, LOOPING_WEBM } from "./support/looping-media.ts";

const folder = newFolder();

async function written(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

test("films, sound and pictures are measured by their bytes, and one kind is not taken for another", async () => {
  const film = await written("film", FILM.bytes);
  const sound = await written("sound", plainWav(400));
  const picture = await written("picture", greyPng(512));
  expect(await measureMedia(film, "video")).toEqual({
    ...{ contentType: "video/mp4", width: 64, height: 64, durationMs: 1000, fps: 5 },
  });
  expect(await measureMedia(sound, "audio")).toMatchObject({ contentType: "audio/wav", durationMs: 400, width: null });
  expect(await measureMedia(picture, "image")).toMatchObject({ contentType: "image/png", width: 512, height: 512 });
  expect(await measureMedia(film, "audio")).toEqual({ fault: "it contains video, not only audio" });
  expect(await measureMedia(sound, "video")).toEqual({ fault: "it contains no video (audio/wav)" });
  expect(await measureMedia(film, "image")).toEqual({ fault: "it is video/mp4" });
  const half = await written("half", FILM.bytes.slice(0, 300));
  expect(await measureMedia(half, "video")).toHaveProperty("fault");
});

test("a photograph that EXIF turns on its side has the size that people see", async () => {
  const jpeg = await createCanvas(40, 24).encode("jpeg");
  const turned = Buffer.from("ffe1002245786966000049492a0008000000010012010300010000000600000000000000", "hex");
  const path = await written("turned", Buffer.concat([jpeg.subarray(0, 2), turned, jpeg.subarray(2)]));
  expect(await measureMedia(path, "image")).toMatchObject({ width: 24, height: 40 });
});

test("a picture with a box of no size is refused at once", async () => {
  const path = await written("looping.avif", LOOPING_AVIF);
  expect(await measureMedia(path, "image")).toEqual({ fault: "it is truncated (image/avif): its meta box is missing" });
});

test("a film that its reader does not come to an end with is given up, and the next file is read", async () => {
  const reader = new MediaReader({ deadlineMs: 300 });
  const [film, pixel] = [await written("looping.webm", LOOPING_WEBM), await written("pixel.png", PIXEL)];
  const asked = [
    reader.ask({ name: "facts", path: film, kind: "video" }),
    reader.ask({ name: "facts", path: film, kind: "audio" }),
    reader.ask({ name: "facts", path: pixel, kind: "image" }),
  ];
  const late = { fault: "it could not be read within 300 ms", isUnread: true };
  expect(await Promise.all(asked)).toEqual([late, late, { is: expect.objectContaining({ width: 1, height: 1 }) }]);
});

test("a process ends by itself after it has read media, and at once by a signal while it does", async () => {
  const module = new URL("../../../../src/core/engine/media/media-reader.ts", import.meta.url).href;
  const measuring = (path: string, kind: string) =>
    `const { measureMedia } = await import(${JSON.stringify(module)});
     const measured = measureMedia(${JSON.stringify(path)}, ${JSON.stringify(kind)});
     console.log("reading");
     await measured;`;
  const run = (code: string) => spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: "pipe" });
  const read = run(measuring(await written("pixel.png", PIXEL), "image"));
  expect(await once(read, "exit")).toEqual([0, null]);
  const stuck = run(measuring(await written("looping.webm", LOOPING_WEBM), "video"));
  await once(stuck.stdout, "data");
  stuck.kill("SIGTERM");
  expect(await once(stuck, "exit")).toEqual([null, "SIGTERM"]);
});

/** A file that no reader comes to an end with; for each number of other bytes. */
const hostileFilm = (n: number) =>
  written(`hostile-${n}.webm`, Buffer.concat([LOOPING_WEBM, Buffer.from("ec".repeat(n), "hex")]));

test("whoever sends files that cannot be read keeps nobody else waiting, and is not read any more after some time, in line or later [shares of media reading]", async () => {
  const reader = new MediaReader({ deadlineMs: 500, wasteMs: 2_000 });
  const films = await Promise.all(Array.from({ length: 40 }, (_, n) => hostileFilm(n)));
  const ends: string[] = [];
  const hostile = films.map(async (path) => {
    const answered = await readingFor("caller a", () => reader.ask({ name: "facts", path, kind: "video" }));
    ends.push("a");
    return answered;
  });
  const pixel = await written("small.png", PIXEL);
  const other = await readingFor("caller b", () => reader.ask({ name: "facts", path: pixel, kind: "image" }));
  expect(other).toEqual({ is: expect.objectContaining({ width: 1 }) });
  // One of the others may have ended meanwhile, never the line of them.
  expect(ends.length).toBeLessThan(5);
  const answers = await Promise.all(hostile);
  const faults = answers.map((answered) => ("isUnread" in answered ? answered.fault : ""));
  const refused = faults.filter((fault) => fault.includes("too many other files"));
  const read = faults.filter((fault) => fault === "it could not be read within 500 ms");
  expect([read.length + refused.length, read.length > 0, read.length <= 4]).toEqual([40, true, true]);
  const later = await readingFor("caller a", () => reader.ask({ name: "facts", path: films[0]!, kind: "audio" }));
  expect(later).toMatchObject({ fault: expect.stringContaining("too many other files") });
  const picture = { name: "facts", path: await written("also-b.png", greyPng(2)), kind: null } as const;
  expect(await readingFor("caller a", () => reader.ask(picture))).toMatchObject({ isUnread: true });
  expect(await readingFor("caller b", () => reader.ask(picture))).toMatchObject({ is: { contentType: "image/png" } });
  const again = { ...picture, path: pixel };
  expect(await readingFor("caller b", () => reader.ask(again))).toMatchObject({ is: { contentType: "image/png" } });
});

test("the same bytes are read once, under whatever name they come", async () => {
  const reader = new MediaReader({ deadlineMs: 400, wasteMs: 5_000 });
  const films = await Promise.all(Array.from({ length: 50 }, (_, n) => written(`same-${n}.webm`, LOOPING_WEBM)));
  const answers = await Promise.all(films.map((path) => reader.ask({ name: "facts", path, kind: "video" })));
  // Fifty readings would have used up what unreadable files may cost.
  const late = { fault: "it could not be read within 400 ms", isUnread: true };
  expect(answers).toEqual(films.map(() => late));
});

test("the files of a run that a caller started are read in the caller's turns", async () => {
  const reader = new MediaReader({ deadlineMs: 300, wasteMs: 300 });
  const film = await hostileFilm(0);
  const pixel = await written("owned.png", PIXEL);
  await readingFor("caller a", () => reader.ask({ name: "facts", path: film, kind: "video" }));
  const ofRun = (kind: "image" | null) => readingFor("run 1", () => reader.ask({ name: "facts", path: pixel, kind }));
  expect(await readingFor("caller a", () => ofRun(null))).toMatchObject({ isUnread: true });
  expect(await ofRun("image")).toHaveProperty("is");
});

test("the thread of the next caller is there before its first file, and nobody else pays for one that they do not use [shares of media reading]", async () => {
  const threads: unknown[] = [];
  const count = (thread: unknown) => threads.push(thread);
  process.on("worker", count);
  const reader = new MediaReader();
  const pixel = await written("counted.png", PIXEL);
  await readingFor("run 1", () => reader.ask({ name: "facts", path: pixel, kind: null }));
  await reader.ask({ name: "facts", path: pixel, kind: "image" });
  expect(threads).toHaveLength(1);
  await readingFor("caller a", () => reader.ask({ name: "facts", path: pixel, kind: "audio" }));
  expect(threads).toHaveLength(2);
  await readingFor("caller b", () => reader.ask({ name: "facts", path: pixel, kind: "video" }));
  expect(threads).toHaveLength(2);
  process.off("worker", count);
});
