import { execFileSync } from "node:child_process";
import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openMediaStore } from "../../../src/core/engine/media/folder-store.ts";
import { temporaryPath, temporaryTag, writeDurably } from "../../../src/core/kit/files.ts";
import { testNeeding } from "../../support/absence.ts";
import { newFolder } from "../../support/temporary-folder.ts";

describe("A file that somebody named", () => {
  test("is replaced as a whole, keeps its mode, and nothing else stays beside it", async () => {
    const folder = newFolder();
    const path = join(folder, "page.html");
    await writeDurably(path, "one");
    chmodSync(path, 0o640);
    const before = statSync(path).ino;
    const other = temporaryPath(folder, temporaryTag(join(folder, "other.html")));
    const abandoned = temporaryPath(folder, temporaryTag(path));
    for (const left of [other, abandoned]) writeFileSync(left, "half");
    for (const left of [other, abandoned]) utimesSync(left, 1, 1);
    await writeDurably(path, "two");
    expect(readFileSync(path, "utf8")).toBe("two");
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(statSync(path).ino).not.toBe(before);
    expect(readdirSync(folder).map((name) => join(folder, name))).toEqual([other, path]);
  });

  test("that is a folder, or lies where none is, is refused by its own name", async () => {
    const folder = newFolder();
    await expect(writeDurably(folder, "x")).rejects.toMatchObject({ code: "EISDIR", path: folder });
    const nowhere = join(folder, "none", "page.html");
    const refused = await writeDurably(nowhere, "x").catch((error: Error) => error);
    expect(refused).toMatchObject({ code: "ENOENT", path: nowhere });
    expect(String(refused)).not.toContain(".part");
    expect(readdirSync(folder)).toEqual([]);
  });
});

/** A named pipe, which anybody may make, is tested with the commands. */
const noDevice = {
  what: "a device of its own",
  cure: "run the tests as root, who may make one",
  isOptional: true,
} as const;

testNeeding(process.getuid?.() === 0 ? null : noDevice)("a device that is written to stays a device", async () => {
  const device = join(newFolder(), "full");
  execFileSync("mknod", [device, "c", "1", "7"]);
  await expect(writeDurably(device, "x")).rejects.toMatchObject({ code: "ENOSPC" });
  expect(lstatSync(device).isCharacterDevice()).toBe(true);
});

test("a named file of a run does not take the place of a pipe or a device, which is said", async () => {
  const folder = newFolder();
  const media = await openMediaStore(join(folder, "media"));
  const { sha256 } = await media.put({ bytes: Buffer.from("a picture") });
  const pipe = join(folder, "a.png");
  execFileSync("mkfifo", [pipe]);
  await expect(media.place([{ sha256, name: "a.png" }], folder, "tag")).rejects.toMatchObject({ code: "MEDIA_PATH" });
  expect(lstatSync(pipe).isFIFO()).toBe(true);
  expect(readdirSync(folder).sort()).toEqual(["a.png", "media"]);
});
