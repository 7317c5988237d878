/** The state of the API that the service answers as: what is published today, or the description labelled 3.9. */
import { expect, test } from "vitest";
import { createClient } from "../../src/core/api/index.ts";
import { skippingClock } from "../support/simulated-clock.ts";
import { ask, get, made, post, read, start, startHeld, submit } from "./support/service.ts";

test("who follows by polling sends the old cursor again where a status without new events has none", async () => {
  const service = await startHeld({ speed: 1 });
  const { job_id } = await submit(service, "image-1", { prompt: "x" });
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey, clock: skippingClock() });
  const polled = () => service.stats().requests["GET /jobs/{job_id}/status"]?.[200] ?? 0;
  const told: string[] = [];
  const followed = (async () => {
    for await (const event of client.follow(job_id, { strategy: "poll" })) {
      if (event.type === "log") told.push(event.log.event);
    }
  })();
  for (let step = 0; step < 5; step++) {
    // Between two steps of the service at least one poll finds nothing new.
    const before = polled();
    await expect.poll(polled).toBeGreaterThan(before + 2);
    await service.clock.advance(step === 4 ? 600_000 : 400);
  }
  await followed;
  const { logs } = await client.job(job_id);
  expect(told).toEqual(logs?.map(({ event }) => event));
  await client.close();
});

test("as of 3.9 a status repeats its cursor, a job has its instants, and a token tells its scopes and workspace", async () => {
  const service = await start({ asOf: "3.9" });
  const job = await made(service, "image-1", { prompt: "x" });
  expect(job).toMatchObject({ created_at: expect.any(String), completed_at: expect.any(String) });
  const path = `/jobs/${job.job_id}/status`;
  const { logs_next_cursor } = await read(service, `${path}?logs_after=start`);
  expect(await read(service, `${path}?logs_after=${logs_next_cursor}`)).toMatchObject({ logs: [], logs_next_cursor });
  const { body } = await ask(service, "POST", "/tokens");
  expect(Object.keys(body)).toEqual(["token", "expires_at", "scopes", "workspace_id"]);
});

test("as of 3.9 a chat passes over what was refused later, and language models are not listed", async () => {
  const service = await start({ asOf: "3.9" });
  const body = { model: "chat-1", messages: [{ role: "user", content: "A mill." }], store: true, logprobs: true };
  const larger = { ...body, max_tokens: 99_999, stream_options: {}, reasoning_effort: "medium" };
  const answers = [body, larger].map((body) => post(service, "/chat/completions", body));
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
  const wrong = await post(service, "/chat/completions", { ...body, messages: [] });
  expect([wrong.status, wrong.body.error.type, wrong.headers.get("x-should-retry")]).toEqual([400, undefined, null]);
  expect((await post(service, "/responses", { model: "chat-1", input: "A mill." })).status).toBe(404);
  const { data } = await read(service, "/models");
  expect(data.filter(({ modality }: { modality: string }) => modality === "text")).toEqual([]);
  expect((await get(service, "/models/chat-1")).status).toBe(404);
});

test("as of 3.9 there are no transactions, requests of language models and searches for voices, and no later version is known", async () => {
  const service = await start({ asOf: "3.9" });
  for (const path of ["/usage/llm", "/transactions", "/models/speech-1/voices/search?q=sally"])
    expect([path, (await get(service, path)).status]).toEqual([path, 404]);
  expect(await read(service, "/usage")).not.toHaveProperty("total_requests");
  await expect(start({ asOf: "4.0" as "3.9" })).rejects.toThrow('asOf is "4.0"; use "3.9" or "today"');
});
