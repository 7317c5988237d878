import { createServer } from "node:http";
import { afterEach, expect, test, vi } from "vitest";
import { checkMedia } from "../../../../src/core/engine/media/open-media.ts";
import { listen } from "../../../support/listen.ts";

afterEach(() => vi.unstubAllEnvs());

test("a bucket that acknowledges a write and does not find it fails its check [G15]", async () => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "a");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "b");
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(request.method === "HEAD" ? 404 : 200).end());
  });
  const { origin, close } = await listen(server);
  const media = `s3://films/media?endpoint=${encodeURIComponent(origin)}&path-style=on`;
  await expect(checkMedia({ media, mediaDir: "." })).rejects.toMatchObject({
    code: "MEDIA_BUCKET",
    message: "s3://films/media does not return an object that was just written.",
    next: "showrunner doctor",
  });
  await close();
});
