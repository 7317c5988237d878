/**
 * Takes the screenshots for docs/dashboard.md, with recipes that it runs on the local service. Needs
 * Chromium (`apt-get install chromium`, or SHOWRUNNER_CHROMIUM).
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCanvas, loadImage } from "@napi-rs/canvas";
import { type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { loadPipeline } from "../src/cli/load/pipeline-file.ts";
import { openMediaStore } from "../src/core/engine/media/folder-store.ts";
import { openSqliteJournal } from "../src/core/journal/sqlite.ts";
import { openShowrunner } from "../src/index.ts";
import { startLocalService } from "../src/local-service/index.ts";
import { startDashboard } from "../src/studio/dashboard/index.ts";

const root = join(import.meta.dirname, "..");
const pictures = join(root, "docs", "pictures");
const folder = mkdtempSync(join(tmpdir(), "dashboard-pictures-"));

interface Shot {
  readonly name: string;
  readonly path: string;
  readonly look: BrowserContextOptions;
  readonly ready: (page: Page) => Promise<void>;
}

/** Script that tests whether all pictures are loaded and all films show a frame. */
const everythingShown = `[...document.querySelectorAll("img, video[src]")].every((one) => one.tagName === "IMG" ? one.complete : one.readyState >= 2 && one.networkState === 1)`;

const wide = { viewport: { width: 1280, height: 780 } };
const shots: readonly Shot[] = [
  {
    name: "dashboard-runs",
    path: "/",
    look: { ...wide, colorScheme: "light" },
    ready: (page) => page.getByText("Waiting for you").waitFor(),
  },
  {
    name: "dashboard-run",
    path: "/runs/avatar-12?step=video",
    look: { ...wide, colorScheme: "light" },
    ready: (page) => page.getByText("History").waitFor(),
  },
  {
    name: "dashboard-decision",
    path: "/runs/cat-3?step=look%2Fpick",
    look: { ...wide, colorScheme: "dark" },
    ready: (page) => page.getByText("Take 3").waitFor(),
  },
  {
    name: "dashboard-timeline",
    path: "/runs/avatar-12/timeline",
    look: { ...wide, viewport: { width: 1280, height: 560 }, colorScheme: "light" },
    ready: (page) => page.getByText("download").first().waitFor(),
  },
  {
    name: "dashboard-review",
    path: "/review?run=cat-3",
    look: { ...wide, viewport: { width: 1280, height: 720 }, colorScheme: "light" },
    ready: async (page) => {
      await page.locator("h2:focus").waitFor();
      await page.keyboard.press("2");
      await page.keyboard.press("d");
      await page.getByRole("list", { name: "Input differences" }).waitFor();
    },
  },
];

const service = await startLocalService({ dataDir: join(folder, "service"), balance: 25 });
const journal = await openSqliteJournal(join(folder, "journal.db"));
const mediaDir = join(folder, "media");
const show = await openShowrunner({ baseUrl: service.baseUrl, apiKey: service.apiKey, journal, mediaDir });
try {
  for (const [id, recipe] of [
    ["river-4", "image-to-video"],
    ["cat-3", "takes"],
    ["avatar-12", "talking-avatar"],
  ] as const) {
    const { pipeline } = await loadPipeline(join(root, "recipes", `${recipe}.ts`), root);
    const run = await show.run(pipeline, {}, { id, budget: "5", outDir: join(folder, id) });
    await run.result();
  }
  const dashboard = await startDashboard({
    show,
    journal,
    media: await openMediaStore(mediaDir),
    launcher: "npx showrunner",
  });
  mkdirSync(pictures, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.SHOWRUNNER_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  for (const { name, path, look, ready } of shots) {
    const context = await browser.newContext({ ...look, reducedMotion: "reduce" });
    const page = await context.newPage();
    await page.goto(dashboard.url);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.goto(dashboard.origin + path);
    await ready(page);
    // The page's security policy forbids `waitForFunction`, but allows single evaluations.
    while (!(await page.evaluate(everythingShown))) await new Promise((done) => setTimeout(done, 100));
    await new Promise((done) => setTimeout(done, 1000));
    writeFileSync(join(pictures, `${name}.webp`), await webp(await page.screenshot()));
    await context.close();
  }
  await browser.close();
  await dashboard.close();
} finally {
  await show.close();
  await journal.close();
  await service.close();
  rmSync(folder, { recursive: true, force: true });
}

async function webp(png: Buffer): Promise<Buffer> {
  const image = await loadImage(png);
  const canvas = createCanvas(image.width, image.height);
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.encode("webp", 82);
}
