import type { ServerResponse } from "node:http";
import type { Refusal } from "./refusal.ts";

/** What a person sees who comes without the token, or to an address that does not exist. Plain, since it needs no login. */
export function sendLockedPage(response: ServerResponse, { status }: Refusal): void {
  const [title, text] =
    status === 401
      ? [
          "This dashboard is locked",
          "Open the address that <code>showrunner dashboard</code> printed in the terminal. It holds a token that only you have.",
        ]
      : ["There is nothing here", 'The address leads nowhere. <a href="/">All runs</a>'];
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${title}</title><main><h1>${title}</h1><p>${text}</p></main></html>`;
  response.writeHead(status, { "Content-Type": "text/html; charset=utf-8" });
  response.end(body);
}
