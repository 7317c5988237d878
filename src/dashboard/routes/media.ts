import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { outputsOf } from "../../index.ts";
import { type Call, notFound, type Route } from "../http/route.ts";
import { type ByteRange, type FileAnswer, mediaHeaders, sendBytes, sendFile } from "../http/send-file.ts";
import type { DashboardContext } from "../options.ts";

/** Addresses of the page's screens; the page itself decides what it shows there. */
const SCREENS = ["/", "/plan", "/costs", "/service", "/runs/:run", "/runs/:run/:tab"];

export function pageRoutes(folder: string): readonly Route[] {
  const send = async ({ incoming, response }: Call, inFolder: string, name: string): Promise<void> => {
    const file = pageFile(inFolder, name);
    if (file === null) throw notFound("This file");
    await sendFile(incoming, response, file);
  };
  return [
    ...SCREENS.map((path): Route => ({ method: "GET", path, handle: (call) => send(call, folder, "index.html") })),
    // Browsers ask for it before they have read the page, which names another one.
    { method: "GET", path: "/favicon.ico", handle: async ({ response }) => void response.writeHead(204).end() },
    { method: "GET", path: "/assets/:name", handle: (call) => send(call, join(folder, "assets"), call.params.name!) },
  ];
}

/** Bytes of outputs and uploads, by what the journal knows: no part of the address ever becomes part of a path. */
export function mediaRoutes({ cache, media }: DashboardContext): readonly Route[] {
  const send = async ({ params, incoming, response }: Call): Promise<void> => {
    const {
      view: { state },
    } = await cache.get(params.run!);
    const step = Object.hasOwn(state.steps, params.step!) ? state.steps[params.step!] : undefined;
    const outputs = step === undefined ? [] : outputsOf(step);
    const copy =
      params.index === "upload" ? step?.upload : outputs.find(({ index }) => String(index) === params.index)?.copy;
    if (copy == null) throw notFound("This output");
    const shown = mediaHeaders(copy.contentType);
    const link = await media.link(copy.sha256, shown);
    if (link !== null) return void response.writeHead(302, { Location: link, "Cache-Control": "no-store" }).end();
    const { contentType, disposition } = shown;
    const sizeBytes = await media.sizeOf(copy.sha256);
    if (sizeBytes === null) throw notFound("This file");
    const headers = {
      "Content-Disposition": disposition,
      "Content-Security-Policy": "default-src 'none'; sandbox",
      "Cache-Control": "private, max-age=3600",
    };
    const bytes = { sizeBytes, read: (range: ByteRange) => media.read(copy.sha256, range) };
    await sendBytes(incoming, response, bytes, { contentType, headers });
  };
  return [{ method: "GET", path: "/media/:run/:step/:index", handle: send }];
}

/** The page's own files; no others are served. */
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".woff2": "font/woff2",
  ".svg": "image/svg+xml",
};

/** Where the built page is: beside this folder in the package; in a checkout it is built when its sources changed. */
export async function pageFolder(): Promise<string> {
  if (!import.meta.url.endsWith(".ts")) return fileURLToPath(new URL("../page", import.meta.url));
  const builder = new URL("../../../scripts/dashboard-page.ts", import.meta.url).href;
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
