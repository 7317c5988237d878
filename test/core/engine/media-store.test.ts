import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { buffer } from "node:stream/consumers";
import fc from "fast-check";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { type FolderStore, openMediaStore } from "../../../src/core/engine/media/folder-store.ts";
import { describeNeeding } from "../../support/absence.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { isFull, newFolder } from "../../support/engine.ts";
import { noSmallDisk, smallDisk } from "../../support/small-disk.ts";

const bytes = Buffer.from("the bytes of a picture");
const hashOf = (content: Uint8Array) => createHash("sha256").update(content).digest("hex");
const sha256 = hashOf(bytes);

describe("The media store", () => {
  let dir: string;
  let outDir: string;
  let media: FolderStore;

  beforeEach(async () => {
    const world = newFolder();
    dir = join(world, "media");
    outDir = join(world, "out");
    media = await openMediaStore(dir);
  });

  async function hashes(): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const hash of media.hashes()) found.push(hash);
    return found.sort();
  }

  test("opens a file when it is read: one that is gone by then fails its reader, and nobody else", async () => {
    await media.put({ bytes });
    const read = await media.read(sha256);
    await media.put({ bytes: Buffer.from("others, meanwhile") });
    rmSync(media.path(sha256));
    await expect(buffer(read)).rejects.toMatchObject({ code: "ENOENT" });
    await expect(media.put({ path: join(dir, "gone") })).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("keeps bytes, a file and a stream alike, each content once, under its hash", async () => {
    const file = join(dirname(dir), "source");
    writeFileSync(file, bytes);
    async function* stream() {
      for (const byte of bytes) yield Uint8Array.of(byte);
    }
    const expected = { sha256, sizeBytes: bytes.length };
    expect(await media.put({ bytes })).toEqual(expected);
    expect(await media.put({ path: file })).toEqual(expected);
    expect(await media.put({ stream: stream() })).toEqual(expected);
    expect([await hashes(), readdirSync(join(dir, "tmp"))]).toEqual([[sha256], []]);
    for (const path of [media.path(sha256), file]) expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  test("keeps any bytes, the empty ones too", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 5_000 }), async (content) => {
        const stored = await media.put({ bytes: content });
        expect(stored).toEqual({ sha256: hashOf(content), sizeBytes: content.length });
        expect(readFileSync(media.path(stored.sha256)).equals(content)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test("is private, the folder and what is in it", async () => {
    await media.put({ bytes });
    for (const path of [dir, dirname(media.path(sha256)), media.path(sha256)]) {
      expect(statSync(path).mode & 0o077).toBe(0);
    }
  });

  test("takes the same content from many at once", async () => {
    await Promise.all(Array.from({ length: 20 }, () => media.put({ bytes })));
    expect(await hashes()).toEqual([sha256]);
    expect(await media.verify(sha256)).toBe("intact");
  });

  test("leaves nothing behind when a stream breaks [G12]", async () => {
    async function* broken() {
      yield bytes;
      throw new Error("connection lost");
    }
    await expect(media.put({ stream: broken() })).rejects.toThrow("connection lost");
    expect([await hashes(), readdirSync(join(dir, "tmp"))]).toEqual([[], []]);
  });

  test("moves a finished download into the store", async () => {
    const tmp = media.tmpPath();
    writeFileSync(tmp, bytes);
    expect(await media.adopt(tmp)).toEqual({ sha256, sizeBytes: bytes.length });
    expect([existsSync(tmp), await media.has(sha256)]).toEqual([false, true]);
    await expect(media.adopt(tmp)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("has what was put, until it is removed", async () => {
    expect([await media.has(sha256), await media.remove(sha256)]).toEqual([false, false]);
    await media.put({ bytes });
    expect([await media.has(sha256), await media.remove(sha256)]).toEqual([true, true]);
    expect([await media.has(sha256), await media.verify(sha256)]).toEqual([false, "missing"]);
  });

  test("finds damage, and the same bytes put again mend it", async () => {
    await media.put({ bytes });
    writeFileSync(media.path(sha256), "something else");
    expect(await media.verify(sha256)).toBe("damaged");
    await media.put({ bytes });
    expect(await media.verify(sha256)).toBe("intact");
  });

  test("takes nothing but a hash for a hash", async () => {
    for (const wrong of ["", "../../etc/passwd", sha256.toUpperCase(), `${sha256}0`, `${sha256}/..`]) {
      expect(() => media.path(wrong)).toThrow(TypeError);
      await expect(media.has(wrong)).rejects.toThrow(TypeError);
      await expect(media.remove(wrong)).rejects.toThrow(TypeError);
      await expect(media.place([{ sha256: wrong, name: "x" }], outDir, "tag")).rejects.toThrow(TypeError);
    }
  });

  test("keeps its content when it is opened again, and clears away what a killed process left long ago", async () => {
    await media.put({ bytes });
    const [old, young, abandoned, busy] = [media.tmpPath(), media.tmpPath(), media.tmpPath(), media.tmpPath()];
    const framesOf = (path: string) => join(path, "frames.raw");
    for (const path of [abandoned, busy]) mkdirSync(path);
    for (const path of [old, young, framesOf(abandoned), framesOf(busy)]) writeFileSync(path, "half");
    for (const path of [old, framesOf(abandoned), abandoned, busy]) utimesSync(path, 1, 1);
    media = await openMediaStore(dir);
    expect(await hashes()).toEqual([sha256]);
    const left = [old, young, abandoned, framesOf(busy)].map((path) => existsSync(path));
    expect(left).toEqual([false, true, false, true]);
  });

  test("clears away at once what a process left that is gone, and nothing of one that runs [G16]", async () => {
    const [own = "", name] = basename(media.tmpPath()).split(/\.(.*)/);
    const mark = own.split("-");
    const gone = [...mark.slice(0, 3), "4194304", "0".repeat(6)].join("-");
    const reused = [...mark.slice(0, 4), "0".repeat(6)].join("-");
    const beforeTheStart = [mark[0], "0".repeat(6), ...mark.slice(2)].join("-");
    const elsewhere = ["0".repeat(6), ...mark.slice(1, 3), "4194304", "0".repeat(6)].join("-");
    const left = [gone, reused, beforeTheStart, elsewhere, own].map((one) => join(dir, "tmp", `${one}.${name}`));
    for (const path of left) mkdirSync(path);
    for (const path of left) writeFileSync(join(path, "film.mp4"), "half");
    const parts = [gone, own].map((one) => join(dir, "tmp", `${`.${one}.${name}`.slice(0, 60)}.0123456789ab.part`));
    for (const path of parts) writeFileSync(path, "half");
    expect(await media.garbage.removeLeftovers({ dryRun: true })).toBe(4);
    expect([...left, ...parts].every((path) => existsSync(path))).toBe(true);
    media = await openMediaStore(dir);
    expect(left.map((path) => existsSync(path))).toEqual([false, false, false, true, true]);
    expect(parts.map((path) => existsSync(path))).toEqual([false, true]);
    expect(await media.garbage.removeLeftovers({ dryRun: false })).toBe(0);
  });

  test("in a place that is no folder says so", async () => {
    const file = join(dirname(dir), "file");
    writeFileSync(file, "x");
    await expect(openMediaStore(join(file, "media"))).rejects.toMatchObject({ code: "MEDIA_FOLDER" });
  });

  describe("placing a file", () => {
    beforeEach(() => media.put({ bytes }));

    const placed = (name: string) => readFileSync(join(outDir, name), "utf8");
    const place = async (name: string, { content = sha256, folder = outDir } = {}) => {
      const [file] = await media.place([{ sha256: content, name }], folder, "tag");
      return file!;
    };

    test("copies it under its name and makes the folders", async () => {
      expect(await place("video.mp4")).toBe("video.mp4");
      expect(await place("scenes/one.mp4")).toBe("scenes/one.mp4");
      expect(placed("scenes/one.mp4")).toBe(bytes.toString());
      expect(readdirSync(outDir).sort()).toEqual(["scenes", "video.mp4"]);
      const usual = join(outDir, "usual");
      writeFileSync(usual, "");
      expect(statSync(join(outDir, "video.mp4")).mode).toBe(statSync(usual).mode);
    });

    test("replaces an older file of the name, and a link without touching where it leads", async () => {
      mkdirSync(outDir);
      const elsewhere = join(dirname(outDir), "elsewhere");
      writeFileSync(elsewhere, "mine");
      writeFileSync(join(outDir, "a.png"), "old");
      symlinkSync(elsewhere, join(outDir, "b.png"));
      await place("a.png");
      await place("b.png");
      expect([placed("a.png"), placed("b.png")]).toEqual([bytes.toString(), bytes.toString()]);
      expect(readFileSync(elsewhere, "utf8")).toBe("mine");
    });

    test("leaves the store's copy as it is when the named file is edited in place", async () => {
      await place("a.png");
      writeFileSync(join(outDir, "a.png"), "edited");
      expect(await media.verify(sha256)).toBe("intact");
    });

    test("stays inside the folder and makes a name that every system takes, whatever the name", async () => {
      const nasty = fc.oneof(
        fc.string({ unit: anyCharacter, maxLength: 300 }),
        fc
          .array(fc.constantFrom("..", "/", "\\", "con", "NUL", ".", "a", " ", ":", "\u202e", "\0"), { maxLength: 12 })
          .map((parts) => parts.join("")),
      );
      await fc.assert(
        fc.asyncProperty(nasty, async (name) => {
          const file = await place(name);
          const segments = file.split("/");
          expect(relative(outDir, join(outDir, file)).startsWith("..")).toBe(false);
          for (const segment of segments) {
            // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
            expect(segment).not.toMatch(/[\u0000-\u001f<>:"\\|?*]|[. ]$|^[. ]|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i);
            expect(Buffer.byteLength(segment)).toBeLessThanOrEqual(200);
          }
          expect(placed(file)).toBe(bytes.toString());
          rmSync(outDir, { recursive: true });
        }),
        { numRuns: isFull ? 1000 : 50 },
      );
      expect(readdirSync(dirname(outDir)).sort()).toEqual(["media"]);
    });

    test("keeps names apart that would become one, the same way each time", async () => {
      const names = ["shot: 1.png", "shot? 1.png", "Shot.png", "shot.png", "SHOT.png", "é.png", "É.png"];
      const first: string[] = [];
      for (const name of names) first.push(await place(name));
      expect(new Set(first.map((file) => file.toLowerCase())).size).toBe(names.length);
      for (const [at, name] of names.entries()) expect(await place(name)).toBe(first[at]);
      expect(first[2]).toBe("Shot.png");
    });

    test("keeps names apart also when they come at the same time", async () => {
      const names = ["shot.png", "Shot.png", "SHOT.png", "sHOT.png"];
      const files = await Promise.all(names.map((name) => place(name)));
      expect(new Set(files.map((file) => file.toLowerCase())).size).toBe(names.length);
      expect(readdirSync(outDir)).toHaveLength(names.length);
    });

    test("beside others of one call answers their paths in order, and of two with one name the later one stays", async () => {
      const other = await media.put({ bytes: Buffer.from("another") });
      const names = ["b/two.png", "one.png", "ONE.png", "b/three.png", "one.png"];
      const files = names.map((name, at) => ({ sha256: at === 4 ? other.sha256 : sha256, name }));
      const first = await media.place(files, outDir, "tag");
      const renamed = expect.stringMatching(/^ONE-[0-9a-f]{8}\.png$/);
      expect(first).toEqual(["b/two.png", "one.png", renamed, "b/three.png", "one.png"]);
      expect([placed("one.png"), placed(first[2]!)]).toEqual(["another", bytes.toString()]);
      expect(readdirSync(join(outDir, "b")).sort()).toEqual(["three.png", "two.png"]);
      expect(await media.place(files, outDir, "tag")).toEqual(first);
    });

    test("that fails leaves no temporary file, neither of its own nor of a killed process", async () => {
      mkdirSync(join(outDir, "b", "blocked.png"), { recursive: true });
      const remains = `.showrunner-tag-${"0".repeat(8)}-0000-0000-0000-${"0".repeat(12)}.part`;
      writeFileSync(join(outDir, "b", remains), "half");
      const soon = new Date(Date.now() + 60_000);
      utimesSync(join(outDir, "b", remains), soon, soon);
      const names = ["blocked.png", ...Array.from({ length: 30 }, (_, at) => `shot-${at}.png`)];
      const files = names.map((name) => ({ sha256, name: `b/${name}` }));
      await expect(media.place(files, outDir, "tag")).rejects.toMatchObject({ code: "MEDIA_PATH" });
      expect(readdirSync(join(outDir, "b")).filter((name) => name.startsWith("."))).toEqual([]);
    });

    test("through a link that leads out of the folder is refused", async () => {
      const elsewhere = join(dirname(outDir), "elsewhere");
      mkdirSync(outDir);
      mkdirSync(elsewhere);
      symlinkSync(elsewhere, join(outDir, "scenes"));
      await expect(place("scenes/a.png")).rejects.toMatchObject({ code: "MEDIA_PATH" });
      await expect(place("scenes/deep/a.png")).rejects.toMatchObject({ code: "MEDIA_PATH" });
      expect(readdirSync(elsewhere)).toEqual([]);
    });

    test("where the folder became a link since is refused, and the file of another that is there stays", async () => {
      const elsewhere = join(dirname(outDir), "elsewhere");
      mkdirSync(elsewhere);
      writeFileSync(join(elsewhere, "a.png"), "another's");
      await place("a.png");
      renameSync(outDir, `${outDir}-before`);
      symlinkSync(elsewhere, outDir);
      const message = expect.stringContaining("now resolves to");
      await expect(place("a.png")).rejects.toMatchObject({ code: "MEDIA_PATH", message });
      expect(readFileSync(join(elsewhere, "a.png"), "utf8")).toBe("another's");
    });

    test("over a folder is refused, and the folder stays", async () => {
      mkdirSync(join(outDir, "a.png"), { recursive: true });
      await expect(place("a.png")).rejects.toMatchObject({ code: "MEDIA_PATH" });
      expect(readdirSync(outDir)).toEqual(["a.png"]);
    });

    test("that is not in the store is refused by its hash, and no file appears", async () => {
      const content = hashOf(Buffer.from("never put"));
      await expect(place("a.png", { content })).rejects.toMatchObject({ code: "MEDIA_MISSING", sha256: content });
      expect(readdirSync(outDir)).toEqual([]);
    });

    test("on another disk works as well", async () => {
      const elsewhere = ["/dev/shm", "/var/tmp", process.cwd()].filter((path) => existsSync(path));
      const other = elsewhere.find((path) => statSync(path).dev !== statSync(dir).dev);
      const disk = mkdtempSync(join(other!, "media-"));
      try {
        expect(await place("a.png", { folder: disk })).toBe("a.png");
        expect(readFileSync(join(disk, "a.png"), "utf8")).toBe(bytes.toString());
      } finally {
        rmSync(disk, { recursive: true });
      }
    });
  });
});

const disk = smallDisk("256k");
afterAll(() => disk?.unmount());

describeNeeding(disk === null ? noSmallDisk : null)("A media store on a full disk", () => {
  test("says so and keeps nothing half", async () => {
    const path = join(disk!.path, "media");
    const media = await openMediaStore(path);
    await expect(media.put({ bytes: Buffer.alloc(1_000_000) })).rejects.toMatchObject({ code: "ENOSPC" });
    expect(readdirSync(join(path, "tmp"))).toEqual([]);
    expect(await media.put({ bytes: Buffer.alloc(100_000) })).toMatchObject({ sizeBytes: 100_000 });
  });
});
