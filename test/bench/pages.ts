/**
 * The dashboard's pages in Chromium, each in a browser that has never seen them: when the first picture stands, when the largest
 * part of it does, and the longest stretch in which the page answers nobody.
 */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { visit } from "../studio/dashboard/support/browse.ts";
import { type PlantedStep, plantRun } from "../studio/dashboard/support/planted.ts";
import { type Served, serveDashboard } from "../studio/dashboard/support/serve.ts";
import type { Report } from "./harness.ts";

const CHROMIUM = process.env.SHOWRUNNER_CHROMIUM ?? "/usr/bin/chromium";
const PICTURES = 60;

interface Seen {
  readonly firstMs: number;
  readonly largestMs: number;
  readonly longestTaskMs: number;
}

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  if (!existsSync(CHROMIUM)) {
    console.error(`\n*** NOT MEASURED: pages need Chromium (apt-get install chromium) ***\n`);
    return;
  }
  const steps = quick ? 500 : 2_000;
  await using served = await serveDashboard();
  await plant(served, steps);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const pages = { "all runs": "/", [`a run of ${PICTURES} pictures`]: "/runs/pictures" };
    for (const [name, path] of Object.entries({ ...pages, [`a run of ${steps} steps`]: "/runs/large" })) {
      const seen: Seen[] = [];
      for (let round = 0; round < (quick ? 2 : 5); round += 1) seen.push(await look(browser, served, path));
      const all = (of: keyof Seen) => seen.map((one) => one[of]);
      report.figure(name, "first picture", "ms", all("firstMs"), { most: 1_000 });
      report.figure(name, "largest part of it", "ms", all("largestMs"));
      report.figure(name, "longest task of the page", "ms", all("longestTaskMs"));
    }
    report.note(`Chromium ${browser.version()}, a window of 1280 × 800, nothing in its cache`);
  } finally {
    await browser.close();
  }
}

async function plant(served: Served, count: number): Promise<void> {
  const shots = Array.from({ length: PICTURES }, async (_, index): Promise<PlantedStep> => {
    return { path: `shot-${index}`, outputs: [await served.picture(index * 6)] };
  });
  await plantRun(served.journal, { id: "pictures", steps: await Promise.all(shots), end: "succeeded" });
  const steps = Array.from({ length: count }, (_, index): PlantedStep => {
    const needs = index < 50 ? [] : [`layer-${Math.floor(index / 50) - 1}/shot-${index % 50}`];
    return { path: `layer-${Math.floor(index / 50)}/shot-${index % 50}`, needs, state: "waiting" };
  });
  await plantRun(served.journal, { id: "large", steps });
}

async function look(browser: Browser, served: Served, path: string): Promise<Seen> {
  await using login = await visit(browser, served);
  const cookies = await login.context.cookies();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    await context.addCookies(cookies);
    const page = await context.newPage();
    await page.addInitScript(`
      globalThis.seen = { largest: 0, task: 0 };
      const watch = (type, note) => new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
      watch("largest-contentful-paint", ({ startTime }) => { seen.largest = startTime; });
      watch("longtask", ({ duration }) => { seen.task = Math.max(seen.task, duration); });
    `);
    await page.goto(`${served.dashboard.origin}${path}`, { waitUntil: "load" });
    await page.getByRole("heading", { level: 1 }).waitFor();
    // The live stream stays open, so that the network is never idle.
    await page.waitForTimeout(1_500);
    return (await page.evaluate(`({
      firstMs: performance.getEntriesByName("first-contentful-paint")[0].startTime,
      largestMs: seen.largest,
      longestTaskMs: seen.task,
    })`)) as Seen;
  } finally {
    await context.close();
  }
}
