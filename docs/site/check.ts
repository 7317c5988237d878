/**
 * Looks at the built site in Chromium: every page by axe, in both color schemes, and where its links lead. Prints when the first
 * picture of the start page was there; asserts no time. `node site/check.ts /errors` looks at that page alone.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import type { AxeResults } from "axe-core";
import { chromium } from "playwright-core";
import { GROUPS } from "./pages.ts";

const dist = join(import.meta.dirname, "dist");
const types: Readonly<Record<string, string>> = {
  ...{ ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" },
  ...{
    ".webp": "image/webp",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
  },
};

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url ?? "/", "http://site").pathname);
  for (const file of [path, `${path}.html`, `${path}index.html`]) {
    try {
      const body = readFileSync(join(dist, file));
      return void response.setHeader("Content-Type", types[extname(file)] ?? "application/octet-stream").end(body);
    } catch {}
  }
  response.writeHead(404).end();
});
await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({
  executablePath: process.env.SHOWRUNNER_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
/** Must lead to one of these pages first. */
const SEARCHES: readonly (readonly [query: string, pages: readonly string[]])[] = [
  ["server sent events", ["in-your-server"]],
  ["ffmpeg", ["film", "api/", "marks"]],
  ["subtitles", ["film", "api/"]],
];

const faults: string[] = [];
const seen = new Set<string>();
try {
  const all = ["/", ...GROUPS.flatMap(({ pages }) => pages.map(([name]) => `/${name.replace(/index$/, "")}`))];
  const named = process.argv.slice(2);
  const paths = named.length > 0 ? named : all;
  await Promise.all(
    (["light", "dark"] as const).map(async (colorScheme) => {
      const page = await browser.newPage({ colorScheme, reducedMotion: "reduce" });
      for (const path of paths) await look(page, path, colorScheme);
      await page.close();
    }),
  );
  const page = await browser.newPage();
  await page.goto(`${origin}/`, { waitUntil: "load" });
  const ms = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime");
  console.log(
    `${seen.size} links, ${paths.length} pages; first picture of the start page after ${Math.round(Number(ms))} ms`,
  );
  const twins = paths.map((path) => (path.endsWith("/") ? `${path}index.md` : `${path}.md`));
  for (const twin of twins)
    if (!(await fetch(origin + twin)).ok) faults.push(`${twin} is not there: each page has one`);
  for (const [query, wanted] of SEARCHES) await search(query, wanted);
  for (const link of seen) if (!(await fetch(origin + link)).ok) faults.push(`${link} is linked to, and not there`);
} finally {
  await browser.close();
  server.close();
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;

async function search(query: string, wanted: readonly string[]) {
  // A page of its own: the box begins with what was searched last, and lists that before what is typed.
  const page = await browser.newPage();
  await page.goto(`${origin}/`, { waitUntil: "load" });
  await page.waitForFunction("document.querySelector('#app')?.__vue_app__ !== undefined");
  await page.locator(".VPNavBarSearch button").first().click();
  await page.locator("#localsearch-input").fill(query);
  const first = page.locator("#localsearch-list a").first();
  await first.waitFor().catch(() => {});
  const href = (await first.getAttribute("href", { timeout: 1_000 }).catch(() => null)) ?? "";
  await page.close();
  if (!wanted.some((name) => href.startsWith(`/${name}`)))
    faults.push(`search: ${query} leads first to ${href || "nothing"}`);
}

async function look(page: Awaited<ReturnType<typeof browser.newPage>>, path: string, scheme: string): Promise<void> {
  await page.goto(origin + path, { waitUntil: "load" });
  await page.evaluate(axe);
  const { violations } = (await page.evaluate("axe.run()")) as AxeResults;
  for (const { id, help, nodes } of violations)
    faults.push(`${path} (${scheme}): ${id}, ${help}: ${nodes.length} × such as ${nodes[0]?.html.slice(0, 160)}`);
  const links = (await page.evaluate("[...document.links].map(({ href }) => href)")) as string[];
  for (const href of links) if (href.startsWith(origin)) seen.add(new URL(href).pathname);
}
