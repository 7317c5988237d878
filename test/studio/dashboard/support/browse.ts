import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { startLocalService } from "showrunner-local";
import { afterAll } from "vitest";
import type { Pipeline, RunOptions, RunResult } from "../../../../src/index.ts";
import { startBrowser } from "../../../demo/support/browser.ts";
import { newFolder } from "../../../support/temporary-folder.ts";
import { type Served, serveDashboard } from "./serve.ts";

export interface Visit extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** The page's errors, and everything that its security policy blocked. */
  readonly complaints: readonly string[];
  go(path: string): Promise<void>;
}

export interface VisitOptions {
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
}

/** Opens the dashboard's printed address in a new browser context. */
export async function visit(browser: Browser, served: Served, options: VisitOptions = {}): Promise<Visit> {
  const { theme = "light", width = 1280, height = 800 } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("net::ERR_")) complaints.push(message.text());
  });
  await page.goto(served.dashboard.url);
  await page.getByRole("heading", { level: 1 }).waitFor();
  return {
    page,
    context,
    complaints,
    async go(path) {
      await page.goto(`${served.dashboard.origin}${path}`);
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** Opens a dashboard in a browser for the tests of a file: on a local service with this balance, or on the fake one. */
export async function openDashboard({ balance, ...options }: DashboardInBrowser = {}) {
  const service = balance === undefined ? null : await startLocalService({ renderer: "stub", balance });
  const open = service && { open: { baseUrl: service.baseUrl, apiKey: service.apiKey } };
  const served = await serveDashboard({ ...open, ...options });
  const browser = await startBrowser();
  const seen = await visit(browser, served);
  const folder = newFolder();
  afterAll(async () => {
    await browser.close();
    await served[Symbol.asyncDispose]();
    await service?.close();
  });
  /** Runs a pipeline until it ends or pauses. */
  async function run(pipeline: Pipeline, input: object, options: RunOptions & { readonly id: string }) {
    const outDir = join(folder, options.id);
    const handle = await served.show.run(pipeline, input, { budget: "2", outDir, ...options });
    return (await handle.result()) as RunResult;
  }
  return { browser, service: service!, served, seen, page: seen.page, run };
}

export interface DashboardInBrowser extends NonNullable<Parameters<typeof serveDashboard>[0]> {
  readonly balance?: number;
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Checks the current page with axe, and returns a line for each violation. */
export async function violations(page: Page): Promise<readonly string[]> {
  // The page's own policy forbids added script tags; the debugger may still evaluate.
  await page.evaluate(axeSource);
  const found = await page.evaluate(
    `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.slice(0, 3).map(({ target, failureSummary }) => target.join(" ") + " " + failureSummary).join(" | ")))`,
  );
  return found as readonly string[];
}
