import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openMediaStore } from "../../src/index.ts";
import { writeReport } from "../../src/report/index.ts";
import { jobStep, SampleRun } from "./support/sample-run.ts";

const options = { writtenAt: 0, version: "1.2.3" };

/** A run whose files lie in a folder of their own. */
function runWith(files: Readonly<Record<string, number>>) {
  const folder = mkdtempSync(join(tmpdir(), "report-"));
  const outDir = join(folder, "out");
  mkdirSync(outDir);
  const run = new SampleRun([jobStep("face")], { outDir }).start().submit("face").complete("face").download("face");
  for (const [file, sizeBytes] of Object.entries(files)) {
    if (sizeBytes >= 0) writeFileSync(join(outDir, file), Buffer.alloc(sizeBytes, 1));
    run.place("face", file.replace(/\..*/, ""), file);
  }
  return { folder, outDir, run: run.finish() };
}

describe("media of a report", () => {
  test("small ones stand in the page, as many as fit, the smallest first; large ones beside it", async () => {
    const { outDir, run } = runWith({ "big.png": 3000, "small.png": 500, "middle.png": 900 });
    const { file, media } = await writeReport(run.show(), run.id, { ...options, inlineBytes: 2000 });
    expect(file).toBe(join(outDir, "report.html"));
    expect(media).toEqual({ inline: 2, beside: 1, missing: 0 });
    const page = readFileSync(file, "utf8");
    expect(page).toContain(`data:image/png;base64,${Buffer.alloc(500, 1).toString("base64")}"`);
    expect(page).toContain('src="big.png"');
  });

  test("a page elsewhere takes copies of the large ones with it", async () => {
    const { folder, run } = runWith({ "a picture #1?.png": 3000 });
    const file = join(folder, "pages", "of run.html");
    await writeReport(run.show(), run.id, { ...options, file, inlineBytes: 0 });
    const [, url = ""] = /<img src="([^"]*)"/.exec(readFileSync(file, "utf8")) ?? [];
    expect(url).toBe("of%20run-files/a%20picture%20%231%3F.png");
    expect(readFileSync(join(folder, "pages", decodeURIComponent(url)))).toHaveLength(3000);
  });

  test("a file that is gone is said to be gone", async () => {
    const { run } = runWith({ "lost.png": -1 });
    const { file, media } = await writeReport(run.show(), run.id, options);
    expect(media.missing).toBe(1);
    expect(readFileSync(file, "utf8")).toContain("No longer at");
  });

  test("a name that leads out of the run's folder is not followed, by dots or by a link", async () => {
    const { folder, outDir, run } = runWith({});
    writeFileSync(join(folder, "secret.png"), "secret");
    symlinkSync(join(folder, "secret.png"), join(outDir, "link.png"));
    const damaged = new SampleRun([jobStep("face")], { outDir })
      .start()
      .submit("face")
      .complete("face")
      .download("face");
    damaged
      .place("face", "dots", "../secret.png")
      .place("face", "link", "link.png")
      .place("face", "root", "/etc/hostname");
    const { file, media } = await writeReport(damaged.finish().show(), run.id, { ...options, inlineBytes: 9_000_000 });
    expect(media).toEqual({ inline: 0, beside: 0, missing: 3 });
    expect(readFileSync(file, "utf8")).not.toContain(Buffer.from("secret").toString("base64"));
  });

  test("a page written again replaces the one before, and leaves nothing else behind", async () => {
    const { outDir, run } = runWith({ "small.png": 10 });
    await writeReport(run.show(), run.id, options);
    const { file, sizeBytes } = await writeReport(run.show(), run.id, { ...options, version: "9.9.9" });
    const page = readFileSync(file, "utf8");
    expect(page).toContain("Showrunner 9.9.9");
    expect(Buffer.byteLength(page)).toBe(sizeBytes);
    expect(existsSync(join(outDir, "report.html.part"))).toBe(false);
  });
});

describe("what was made on the way", () => {
  test("stands in the page while it is small, from the media store", async () => {
    const { folder, outDir } = runWith({});
    const mediaDir = join(folder, "media");
    const store = await openMediaStore(mediaDir);
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
    const small = await writeReport(run.show(), run.id, { ...options, mediaDir });
    const page = readFileSync(small.file, "utf8");
    expect(page).toContain(`data:image/png;base64,${Buffer.from("a small picture").toString("base64")}`);
    expect(page).toContain("On the way");
    const without = await writeReport(run.show(), run.id, { ...options, mediaDir, inlineBytes: 10 });
    expect(readFileSync(without.file, "utf8")).not.toContain("On the way");
  });
});
