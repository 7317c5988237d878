import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openMediaStore } from "../../../src/core/engine/media/folder-store.ts";
import { writeReport } from "../../../src/studio/dashboard/index.ts";
import type { InlinedRun } from "../../../src/studio/dashboard/views/document.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { readReport } from "./support/read-report.ts";
import { jobStep, SampleRun } from "./support/sample-run.ts";

const options = { writtenAt: 0, version: "1.2.3" };

const urlsOf = ({ patch }: InlinedRun) => patch.steps.flatMap(({ media }) => media.flatMap(({ url }) => url ?? []));

/** A run whose files lie in a folder of their own, with copies in a media store beside it; negative: without a copy. */
async function runWith(files: Readonly<Record<string, number>>) {
  const folder = newFolder();
  const outDir = join(folder, "out");
  const mediaDir = join(folder, "media");
  mkdirSync(outDir);
  const store = await openMediaStore(mediaDir);
  const steps = Object.keys(files).map((_, at) => jobStep(`face-${at}`));
  const run = new SampleRun(steps, { outDir }).start();
  for (const [at, [file, sizeBytes]] of Object.entries(files).entries()) {
    const bytes = Buffer.alloc(Math.abs(sizeBytes), 1);
    const step = `face-${at}`;
    const { sha256 } = sizeBytes < 0 ? { sha256: "ab".repeat(32) } : await store.put({ bytes });
    if (sizeBytes >= 0) writeFileSync(join(outDir, file), bytes);
    run.submit(step).complete(step).download(step, 1, sha256).place(step, file.replace(/\..*/, ""), file);
  }
  const page = { ...options, mediaDir, file: join(outDir, "report.html") };
  return { folder, outDir, mediaDir, store, page, run: run.finish() };
}

describe("media of a report", () => {
  test("small ones are part of the page, as many as fit, the smallest first; large ones are files beside it", async () => {
    const { run, page: at } = await runWith({ "big.png": 3000, "small.png": 500, "middle.png": 900 });
    const { file, media } = await writeReport(run.show(), run.id, { ...at, inlineBytes: 2000 });
    expect(media).toEqual({ inline: 2, beside: 1, missing: 0 });
    const { media: data, run: shown } = readReport(file);
    expect(Object.values(data)).toContain(`data:image/png;base64,${Buffer.alloc(500, 1).toString("base64")}`);
    expect(urlsOf(shown)).toContain("big.png");
  });

  test("a page elsewhere takes copies of the large ones with it", async () => {
    const { folder, run, page } = await runWith({ "a picture #1?.png": 3000 });
    const file = join(folder, "pages", "of run.html");
    await writeReport(run.show(), run.id, { ...page, file, inlineBytes: 0 });
    const [url = ""] = urlsOf(readReport(file).run);
    expect(url).toBe("of%20run-files/a%20picture%20%231%3F.png");
    expect(readFileSync(join(folder, "pages", decodeURIComponent(url)))).toHaveLength(3000);
  });

  test("a file without a copy is shown as gone", async () => {
    const { run, page } = await runWith({ "lost.png": -1 });
    const { file, media } = await writeReport(run.show(), run.id, page);
    expect(media.missing).toBe(1);
    const [lost] = readReport(file).run.patch.steps[0]!.media;
    expect(lost).toMatchObject({ url: null, error: expect.stringContaining("No copy of this file is left") });
  });

  test("come from the media store only, whatever folder, name or hash the journal names [G33]", async () => {
    const folder = newFolder();
    const mediaDir = join(folder, "media");
    const hidden = Buffer.from("a private key");
    const sha256 = createHash("sha256").update(hidden).digest("hex");
    writeFileSync(join(folder, "id_ed25519"), hidden);
    const other = "cd".repeat(32);
    for (const [hash, to] of [
      [sha256, join(folder, "id_ed25519")],
      [other, null],
    ] as const) {
      mkdirSync(join(mediaDir, hash.slice(0, 2)), { recursive: true });
      const kept = join(mediaDir, hash.slice(0, 2), hash);
      if (to === null) writeFileSync(kept, hidden);
      else symlinkSync(to, kept);
    }
    const names = ["id_ed25519", "../id_ed25519", "/etc/hostname", "link.png"];
    const hashes = [sha256, other, "../../id_ed25519", "ab".repeat(32)];
    const steps = names.map((_, at) => jobStep(`face-${at}`));
    const run = new SampleRun(steps, { outDir: folder }).start();
    for (const [at, name] of names.entries()) {
      const step = `face-${at}`;
      run.submit(step).complete(step).download(step, 1, hashes[at]).place(step, `made ${at}`, name);
    }
    const page = { ...options, mediaDir, inlineBytes: 9_000_000, file: join(folder, "page", "report.html") };
    const { file, media } = await writeReport(run.finish().show(), run.id, page);
    expect(media).toEqual({ inline: 0, beside: 0, missing: 4 });
    expect(readFileSync(file, "utf8")).not.toContain(hidden.toString("base64"));
    expect(readdirSync(join(folder, "page"))).toEqual(["report.html"]);
  });

  test("a page written again replaces the previous one, and leaves no other file", async () => {
    const { outDir, run, page: at } = await runWith({ "small.png": 10 });
    await writeReport(run.show(), run.id, at);
    const { file, sizeBytes } = await writeReport(run.show(), run.id, { ...at, version: "9.9.9" });
    const page = readFileSync(file, "utf8");
    expect(page).toContain("Showrunner 9.9.9");
    expect(Buffer.byteLength(page)).toBe(sizeBytes);
    expect(existsSync(join(outDir, "report.html.part"))).toBe(false);
  });
});

describe("intermediate results", () => {
  test("are part of the page while they are small, from the media store", async () => {
    const { outDir, store, page: at } = await runWith({});
    const { sha256 } = await store.put({ bytes: Buffer.from("a small picture") });
    const run = new SampleRun([jobStep("face")], { outDir }).start().submit("face").complete("face");
    run.add({
      type: "output.downloaded",
      step: "face",
      attempt: 1,
      index: 0,
      sha256,
      sizeBytes: 15,
      contentType: "image/png",
    });
    const small = await writeReport(run.show(), run.id, at);
    const page = readFileSync(small.file, "utf8");
    expect(page).toContain(`data:image/png;base64,${Buffer.from("a small picture").toString("base64")}`);
    const without = await writeReport(run.show(), run.id, { ...at, inlineBytes: 10 });
    const [shown] = readReport(without.file).run.patch.steps[0]!.media;
    expect(shown).toMatchObject({ url: null, error: "This file is not part of the report." });
  });
});

test("a plan with missing steps or a cycle is reported as far as it goes", async () => {
  const folder = newFolder();
  const steps = [jobStep("a", ["b", "nowhere"]), jobStep("b", ["a"]), jobStep("c", ["c"])];
  const run = new SampleRun(steps, { outDir: folder }).start();
  const page = { ...options, mediaDir: join(folder, "media"), file: join(folder, "report.html") };
  const { file } = await writeReport(run.show(), run.id, page);
  expect(readFileSync(file, "utf8")).toContain("a picture of a");
});

test("a result that is no picture, film or sound is offered to be saved, and never opens in the page", async () => {
  const { folder, mediaDir, store, outDir } = await runWith({});
  const { sha256 } = await store.put({ bytes: Buffer.from("<script>alert(1)</script>") });
  const run = new SampleRun([jobStep("face")], { outDir }).start().submit("face").complete("face");
  const facts = { step: "face", attempt: 1, index: 0, sha256, sizeBytes: 25, contentType: "text/html" };
  run.add({ type: "output.downloaded", ...facts });
  run.place("face", "page", "page.bin").finish();
  const file = join(folder, "pages", "report.html");
  await writeReport(run.show(), run.id, { ...options, mediaDir, file });
  expect(readFileSync(file, "utf8")).not.toContain("<script>alert");
  const [shown] = readReport(file).run.patch.steps[0]!.media;
  expect(shown).toMatchObject({ kind: "other", url: "report-files/page.bin" });
});
