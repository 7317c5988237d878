import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import { startServed } from "../../support/served-process.ts";

const MIB = 1024 * 1024;

/** A form whose one file begins as a picture and is as large as this, piece by piece. */
async function* form(boundary: string, bytes: number) {
  yield Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="photo"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n`,
  );
  yield greyPng(8, 8);
  const piece = Buffer.alloc(MIB, Math.random().toString(36));
  for (let sent = 0; sent < bytes; sent += MIB) yield piece;
  yield Buffer.from(`\r\n--${boundary}--\r\n`);
}

test("twelve forms of 63 MiB at once are on disk and not in memory [shares of memory]", async () => {
  await using server = await startServed(fileURLToPath(new URL("./support/forms-server.ts", import.meta.url)));
  const { port, folder } = server.ready;
  const send = async (as: string) => {
    const headers = { Authorization: `Bearer ${as}`, "Content-Type": "multipart/form-data; boundary=x" };
    const body = ReadableStream.from(form("x", 63 * MIB));
    const init = { method: "POST", headers, body, duplex: "half" as const };
    const response = await fetch(`http://localhost:${port}/sent/quote`, init);
    return [response.status, response.ok ? "" : await response.text()];
  };
  const answers = await Promise.all(Array.from({ length: 12 }, (_, at) => send(`caller-${at % 3}`)));
  const { peakBytes, defects } = await server.health();
  await rm(folder!, { recursive: true, force: true });
  expect(answers).toEqual(Array.from({ length: 12 }, () => [200, ""]));
  expect(defects).toEqual([]);
  expect(peakBytes).toBeLessThan(400e6);
});
