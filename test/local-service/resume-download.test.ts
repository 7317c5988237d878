import { Agent, interceptors, request } from "undici";
import { expect, test } from "vitest";
import { made, start } from "./support/service.ts";

test("a standard downloader that resumes by Range completes a download that is cut short again and again", async () => {
  const service = await start();
  const { url } = (await made(service, "image-1", { prompt: "x" })).outputs[0];
  const whole = Buffer.from(await (await fetch(url)).arrayBuffer());
  const cuts = 3;
  const step = Math.ceil(whole.length / (cuts + 1));
  service.faults([{ kind: "truncate_download", bytes: step, count: cuts }]);
  const agent = new Agent().compose(interceptors.retry({ maxRetries: cuts + 1, minTimeout: 1, maxTimeout: 1 }));
  const { statusCode, body } = await request(url, { dispatcher: agent });
  expect(statusCode).toBe(200);
  expect(Buffer.from(await body.arrayBuffer())).toEqual(whole);
  await agent.close();
  // A request is counted when its answer is through on the service, which may be after the client has the last byte.
  await expect.poll(() => service.stats().requests["GET /media/{id}"]).toMatchObject({ "206": cuts });
});
