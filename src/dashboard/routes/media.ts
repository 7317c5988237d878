import { join } from "node:path";
import { outputsOf } from "../../index.ts";
import type { DashboardContext } from "../context.ts";
import { mediaHeaders } from "../http/media-types.ts";
import { notFound } from "../http/refusal.ts";
import type { Call, Route } from "../http/route.ts";
import { sendFile } from "../http/send-file.ts";
import { pageFile } from "../page-files.ts";

/** Addresses of the page's screens; the page itself decides what it shows there. */
const SCREENS = ["/", "/plan", "/service", "/runs/:run", "/runs/:run/:tab"];

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
    const { contentType, disposition } = mediaHeaders(copy.contentType);
    const headers = {
      "Content-Disposition": disposition,
      "Content-Security-Policy": "default-src 'none'; sandbox",
      "Cache-Control": "private, max-age=3600",
    };
    await sendFile(incoming, response, { path: media.path(copy.sha256), contentType, headers });
  };
  return [{ method: "GET", path: "/media/:run/:step/:index", handle: send }];
}
