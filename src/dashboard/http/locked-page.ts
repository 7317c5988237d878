import type { ServerResponse } from "node:http";

const title = "This dashboard is locked";
const body = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><main><h1>${title}</h1><p>Open the address that <code>showrunner dashboard</code> printed in the terminal. It holds a token that only you have.</p></main></html>`;

/** What a person sees who comes without the token. Plain: style and script are behind the door. */
export function sendLockedPage(response: ServerResponse): void {
  response.writeHead(401, { "Content-Type": "text/html; charset=utf-8" });
  response.end(body);
}
