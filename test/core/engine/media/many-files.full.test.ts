import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, expect, test, vi } from "vitest";
import { openMediaStore } from "../../../../src/core/engine/media/folder-store.ts";
import { lacksUnix, testNeeding } from "../../../support/absence.ts";
import { isFull, models, newFolder, openFakeShow, PIXEL, pipelineOf } from "../../../support/engine.ts";

/** Files that the media store began to write. */
const written = vi.hoisted(() => ({ count: 0 }));

vi.mock(import("node:fs/promises"), async (original) => {
  const fs = await original();
  const open: typeof fs.open = (path, flags, mode) => {
    if (flags === "wx" && /[\\/]media[\\/]tmp[\\/]/.test(String(path))) written.count += 1;
    return fs.open(path, flags, mode);
  };
  return { ...fs, open, default: { ...fs, open } };
});

beforeEach(() => {
  written.count = 0;
});

const STEPS = 2000;

test("2,000 steps over one file copy it once, upload it once and ask for one price", async () => {
  const folder = newFolder();
  const [one, other] = ["one.png", "other.png"].map((name) => join(folder, name)) as [string, string];
  for (const path of [one, other]) writeFileSync(path, PIXEL);
  const { show, paidService } = await openFakeShow();
  const estimate = vi.spyOn(show.client, "estimate");
  const same = pipelineOf("same", ({ job, upload }) => {
    for (let at = 0; at < STEPS; at += 1) {
      const file = upload(`file-${at}`, at % 2 === 0 ? one : other);
      job(`drawn-${at}`, models.image, { prompt: "the same", images: [file as never] });
    }
    return {};
  });
  const quote = await show.quote(same, {});
  expect(quote.prices.filter(({ basis }) => basis === "quoted")).toHaveLength(STEPS);
  expect([written.count, paidService.uploads.size, estimate.mock.calls.length]).toEqual([1, 1, 1]);
});

test("2,000 steps whose input is still to be made are priced with a placeholder and a request for what is expected and for the greatest", async () => {
  const { show, paidService } = await openFakeShow();
  const estimate = vi.spyOn(show.client, "estimate");
  const fanned = pipelineOf("fanned", ({ job }) => {
    const first = job("first", models.image, { prompt: "a harbour" });
    for (let at = 0; at < STEPS; at += 1) {
      job(`drawn-${at}`, models.image, { prompt: "the same", images: [first] });
    }
    return {};
  });
  const quote = await show.quote(fanned, {});
  expect(quote.prices.filter(({ basis }) => basis === "provisional")).toHaveLength(STEPS);
  expect([written.count, paidService.uploads.size, estimate.mock.calls.length]).toEqual([2, 2, 3]);
});

test("a run over one file many times copies it once, and once more after somebody damaged the copy", async () => {
  const { run, mediaDir } = await openFakeShow();
  const media = await openMediaStore(mediaDir);
  const twenty = pipelineOf("twenty", ({ upload }) => {
    for (let at = 0; at < 20; at += 1) upload(`file-${at}`, PIXEL);
    return {};
  });
  const ran = async (id: string) => (await run(twenty, {}, { id })).status;
  expect([await ran("a"), written.count]).toEqual(["succeeded", 1]);
  expect([await ran("b"), written.count]).toEqual(["succeeded", 1]);
  const { sha256 } = await media.put({ bytes: PIXEL });
  writeFileSync(media.path(sha256), "damaged");
  expect([await ran("c"), written.count]).toEqual(["succeeded", 2]);
  expect(await media.verify(sha256)).toBe("intact");
});

/** More than a process may open, many times over. */
const FILES = isFull ? 2000 : 600;

testNeeding(lacksUnix)(
  `${FILES} files are measured, copied, uploaded and priced by a process that may open 256`,
  async () => {
    const child = join(import.meta.dirname, "..", "fixtures", "many-uploads.ts");
    const command = `ulimit -n 256; exec "${process.execPath}" "${child}" ${FILES}`;
    const { stdout } = await promisify(execFile)("sh", ["-c", command]);
    expect(JSON.parse(stdout)).toEqual({
      ...{ problems: [], priced: FILES / 4, status: "succeeded", uploads: { "201": FILES } },
    });
  },
  300_000,
);
