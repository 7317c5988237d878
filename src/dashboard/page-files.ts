import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FileAnswer } from "./http/send-file.ts";

/** The page's own files; no others are served. */
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".woff2": "font/woff2",
  ".svg": "image/svg+xml",
};

/** Where the built page is: beside this file in the package; in a checkout it is built when its sources changed. */
export async function pageFolder(): Promise<string> {
  if (!import.meta.url.endsWith(".ts")) return fileURLToPath(new URL("./page", import.meta.url));
  const builder = new URL("../../scripts/dashboard-page.ts", import.meta.url).href;
  const { builtPage } = (await import(builder)) as { readonly builtPage: () => Promise<string> };
  return builtPage();
}

/** A file of the page by the last part of its address, or null. Names hold no folders. */
export function pageFile(folder: string, name: string): FileAnswer | null {
  const contentType = TYPES[extname(name)];
  if (contentType === undefined || !/^[A-Za-z0-9_-]+\.[a-z0-9]+$/.test(name)) return null;
  // The names of script, style and fonts hold a hash of what is in them.
  const headers: Readonly<Record<string, string>> =
    name === "index.html" ? {} : { "Cache-Control": "private, max-age=31536000, immutable" };
  return { path: join(folder, name), contentType, headers };
}
