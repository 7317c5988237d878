import { expect, test } from "vitest";
import { verifyWebhook } from "../../../src/api/webhooks/verify-webhook.ts";
import { receiver } from "../support/receiver.ts";
import { ask, finished, get, start, submit, until } from "../support/service.ts";

test("a finished job is announced by a signed POST that the client verifies", async () => {
  const service = await start();
  const hook = await receiver();
  const { job_id } = await submit(service, "image-1", { prompt: "x" }, { webhook: `${hook.url}/hook?a=1` });
  const [post] = await hook.arrived(1);
  const key = await get(service, "/webhooks/public-key", { credential: null });
  expect(key.body.algorithm).toBe("ed25519");
  const verdict = verifyWebhook({
    headers: post!.headers,
    body: post!.body,
    publicKey: key.body.public_key,
    now: service.clock.now(),
  });
  expect(verdict).toMatchObject({
    ok: true,
    event: { id: job_id, event: "job.completed", redelivery: false, attempt: 1, brand: "studio" },
  });
  expect(post!.path).toBe("/hook?a=1");
  await until(service, "/webhooks/deliveries", (body) => body.data[0].status === "DELIVERED");
});
