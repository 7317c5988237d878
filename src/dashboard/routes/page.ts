import { join } from "node:path";
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
