import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { Served } from "./serve.ts";

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
