import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { chromium as executablePath } from "../../support/absent-programs.ts";
import { SERVER_UP_MS, withSecondTry } from "../../support/server-up.ts";

/** Starts Debian's Chromium without a sandbox, because it may run as root, and without network access. */
export function startBrowser(): Promise<Browser> {
  return withSecondTry(launch);
}

function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    timeout: SERVER_UP_MS,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--autoplay-policy=no-user-gesture-required",
    ],
  });
}

const types: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".mp4": "video/mp4",
  ".wav": "audio/wav",
  ".mp3": "audio/mpeg",
};

export interface MediaServer extends AsyncDisposable {
  readonly origin: string;
}

/** Serves an empty page at `/` and the files at `/0`, `/1` …, with ranges, which players request. */
export async function serveMedia(files: readonly string[]): Promise<MediaServer> {
  const server = createServer((request, response) => {
    const file = files[Number(request.url?.slice(1) || Number.NaN)];
    if (file === undefined)
      return void response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>media</title>");
    const size = statSync(file).size;
    const [, from = "0", to = ""] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    const start = Number(from);
    const end = to === "" ? size - 1 : Number(to);
    response.writeHead(request.headers.range ? 206 : 200, {
      "content-type": types[extname(file)] ?? "application/octet-stream",
      "content-length": end - start + 1,
      "accept-ranges": "bytes",
      ...(request.headers.range && { "content-range": `bytes ${start}-${end}/${size}` }),
    });
    createReadStream(file, { start, end }).pipe(response);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
