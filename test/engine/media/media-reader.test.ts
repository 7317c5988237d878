import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { measureMedia } from "../../../src/engine/media/measure-media.ts";
import { MediaReader } from "../../../src/engine/media/media-reader.ts";
import { fastFolder } from "../../../src/testing/surroundings.ts";
import { PIXEL } from "../../support/tiny-media.ts";
import { LOOPING_AVIF, LOOPING_WEBM } from "./support/looping-media.ts";

let folder: string;
beforeAll(async () => {
  folder = await fastFolder("media-reader-");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function written(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

test("a picture with a box of no size is refused at once", async () => {
  const path = await written("looping.avif", LOOPING_AVIF);
  expect(await measureMedia(path, "image")).toEqual({
    fault: "it holds image/avif that is cut short: its meta box is missing",
  });
});

test("a film that its reader does not come to an end with is given up, and the next file is read", async () => {
  const reader = new MediaReader({ deadlineMs: 300, memoryMb: 256 });
  const [film, pixel] = [await written("looping.webm", LOOPING_WEBM), await written("pixel.png", PIXEL)];
  const asked = [
    reader.ask({ name: "facts", path: film, kind: "video" }, 0),
    reader.ask({ name: "facts", path: film, kind: "audio" }, 0),
    reader.ask({ name: "facts", path: pixel, kind: "image" }, 0),
  ];
  const late = { fault: "it cannot be read within 300 ms", isUnread: true };
  expect(await Promise.all(asked)).toEqual([late, late, { is: expect.objectContaining({ width: 1, height: 1 }) }]);
});

test("a process ends by itself after it has read media, and at once by a signal while it does", async () => {
  const module = new URL("../../../src/engine/media/measure-media.ts", import.meta.url).href;
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
