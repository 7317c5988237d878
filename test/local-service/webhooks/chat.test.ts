import { expect, test } from "vitest";
import { announced, ended } from "../support/deliveries.ts";
import { drain, GATHERED_MS, lines } from "../support/drains.ts";
import { receiver } from "../support/receiver.ts";
import { ask, read, start } from "../support/service.ts";

test("a chat job has no delivery row and sends no webhook, though a default is set; drains hear of it [N3 S19]", async () => {
  const service = await start();
  const hook = await receiver();
  const logs = await receiver();
  await ask(service, "PUT", "/webhooks/default", { body: { url: hook.url } });
  await drain(service, { url: logs.url });
  const body = { model: "chat-1", messages: [{ role: "user", content: "Say hello." }] };
  const chat = await ask(service, "POST", "/chat/completions", { body });
  expect(chat.status).toBe(200);
  const jobId = await announced(service, null);
  await ended(service, jobId, 1);
  await service.clock.advance(GATHERED_MS);
  expect((await read(service, "/webhooks/deliveries")).data).toMatchObject([{ job_id: jobId }]);
  expect(hook.received.map((post) => post.headers["x-studio-webhook-id"])).toEqual([jobId]);
  expect(logs.received.flatMap(lines).map((line) => line.studio_job_id)).toContain(chat.body.id);
});
