import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../../src/core/api/index.ts";
import { createWebhookReceiver } from "../../../src/fleet/worker/index.ts";
import { createMemoryJournal, model, openShowrunner } from "../../../src/index.ts";
import { newFolder, PIXEL, pipelineOf, skippingClock } from "../../support/engine.ts";
import { fakeService, json, type Reply } from "../../support/fake-service.ts";
import { signedHeaders, signingKey } from "../../support/signed-webhook.ts";

// Every answer as the service publishes it today, with nulls, values and fields that nobody knows yet.
const IMAGE = "gpt-image-2.5-flare";
const CHAT = "zai-org/glm-5.3";
const blank = { name: null, description: null, logo_url: null, badge: { new: true } };
const language = { type: "string", anyOf: [{ type: "string", enum: ["en", "de"] }, { type: "string" }] };
const models = [
  {
    ...{ ...blank, id: IMAGE, modality: "image", price_description: null, output_schema: {} },
    input_schema: {
      ...{ type: "object", additionalProperties: false, required: ["prompt"] },
      properties: { prompt: { type: "string" }, language },
    },
  },
  {
    ...{ ...blank, id: CHAT, modality: "text", context_length: 1_048_576, max_output_tokens: 4_096, input_schema: {} },
    llm: { pricing: { usd_per_1m_input_tokens: 1, usd_per_1m_output_tokens: 2 }, max_images_per_request: null },
  },
];
const funds = { balance: 0, required: null, currency: "USD", funding_url: "https://pay.test/", reason: "of_tomorrow" };
const envelope = (status: number, code: string, more: object, headers: Record<string, string> = {}): Reply =>
  json(status, { error: { code, message: "m", type: "invalid_request_error", ...more }, trace_id: null }, headers);
const foreign = (status: number, code: string, headers: Record<string, string> = {}): Reply =>
  json(status, { error: { message: "m", type: "invalid_request_error", param: null, code } }, headers);
const passing = { "x-should-retry": "true", "retry-after": "2" };

async function published() {
  const reads = new Map<string, number>();
  const submits: string[] = [];
  /** What is answered before the service does its work, the first one first. */
  const refusals: Record<"submit" | "chat", Reply[]> = { submit: [], chat: [] };
  const answer: Reply = (request, response) => {
    const [path = "", query = ""] = request.path.split("?");
    const parts = path.split("/").slice(2).map(decodeURIComponent);
    const reply = (): Reply => {
      if (path.startsWith("/media/"))
        return (_, to) => void to.writeHead(200, { "content-type": "image/png" }).end(PIXEL);
      if (parts[0] === "balance") return json(200, { balance: 9.5, currency: "USD", spent: null, plan: null });
      if (parts[0] === "tokens") return json(201, { token: "tok", expires_at: "2030-01-01T00:00:00Z" });
      if (parts[0] === "openapi.json") return json(404, { error: { code: "NOT_FOUND", message: "m" } });
      if (parts[0] === "chat") return refusals.chat.shift() ?? json(200, completion);
      if (parts[0] === "models" && parts.length === 1) return json(200, { data: models, next_cursor: null, total: 2 });
      const known = models.find(({ id }) => id === parts[1]);
      if (parts[0] === "models" && known === undefined)
        return json(404, { error: { code: "NOT_FOUND", message: "m" } });
      if (parts[2] === "estimate") return json(200, { model: IMAGE, cost: 0.04, currency: "USD", tier: null });
      if (parts[0] === "models" && request.method === "GET")
        return json(200, parts[2] ? { data: [], next_cursor: null } : known);
      if (parts[0] === "models") return refusals.submit.shift() ?? submit(request.body);
      return job(parts[1]!, parts[2], query);
    };
    return reply()(request, response);
  };
  const usage = { prompt_tokens: 12, completion_tokens: 30, reasoning_tokens: null, estimated: false };
  const message = { role: "assistant", content: "A red fox.", reasoning_content: "…", refusal: null };
  const completion = {
    ...{ id: "job_chat", object: "chat.completion", created: 1, model: CHAT, usage, service_tier: null },
    choices: [{ index: 0, message, logprobs: null, finish_reason: "stop" }],
  };
  const submit = (body: string): Reply => {
    const { idempotency_key: key } = JSON.parse(body) as { readonly idempotency_key: string };
    const isReplay = submits.includes(key);
    if (!isReplay) submits.push(key);
    const id = `job_${submits.indexOf(key) + 1}`;
    const paths = { status_url: `/v3/jobs/${id}/status`, result_url: `/v3/jobs/${id}` };
    const ack = { job_id: id, model: IMAGE, status: "IN_QUEUE", ...paths, estimated_completion_at: null, region: null };
    return json(202, ack, isReplay ? { "x-idempotent-replayed": "true" } : {});
  };
  const resultOf = (id: string) => ({
    ...{ job_id: id, model: id === "job_chat" ? CHAT : IMAGE, quality: null, status: "COMPLETED" },
    ...{ prompt: null, error: null, logs: null, currency: "USD", region: "of_tomorrow" },
    cost: id === "job_chat" ? 0.0001 : 0.04,
    metrics: { processing_time_ms: null, time_to_first_token_ms: null },
    ...(id === "job_chat" && { usage }),
    outputs: id === "job_chat" ? [] : [outputOf(id)],
  });
  const outputOf = (id: string) => ({
    ...{ status: "COMPLETED", asset_id: `asset_${id}`, voice_id: null, url: `${service.origin}/media/${id}.png` },
    ...{ content_type: "image/png", width: null, height: null, duration_ms: null, fps: null, error: null },
    ...{ expires_at: "2030-01-02T00:00:00.123456Z", checksum: null },
  });
  const job = (id: string, part: string | undefined, query: string): Reply => {
    if (part === undefined) return json(200, resultOf(id));
    if (part === "stream") return json(503, { error: { code: "UNAVAILABLE", message: "m" } });
    const read = (reads.get(id) ?? 0) + 1;
    reads.set(id, read);
    const status = ["IN_QUEUE", "WARMING_UP"][read - 1] ?? "COMPLETED";
    const logs = query.includes("logs_after") ? { logs: [] } : {};
    const progress = status === "COMPLETED" ? 1 : 0;
    return json(200, { job_id: id, status, progress, estimated_completion_at: null, eta: null, ...logs });
  };
  const service = await fakeService(answer);
  const options = { apiKey: "sk_hedra_of_a_test", clock: skippingClock(), random: () => 0.5 };
  const client = createClient({ baseUrl: service.baseUrl, ...options });
  const journal = createMemoryJournal();
  const home = newFolder();
  const show = await openShowrunner({ client, journal, mediaDir: join(home, "media"), follow: "poll" });
  onTestFinished(async () => {
    await show.close();
    await client.close();
    await service.close();
  });
  const run = async () => (await show.run(film, {}, { id: "x", outDir: join(home, "out") })).result();
  return { client, show, refusals, submits, resultOf, run };
}

const image = model<{ readonly prompt: unknown; readonly language?: string }, "image">(IMAGE, { yields: "image" });
const film = pipelineOf("film", ({ chat, job }) => {
  const words = chat("words", CHAT, { prompt: "Describe a fox." }, { maxCost: "0.01" });
  return { still: job("still", image, { prompt: words, language: "tlh" } as never), words: words };
});

test("a catalog with language models, ids of today and suggested values is planned and priced without a problem", async () => {
  const { show } = await published();
  const quote = await show.quote(film, {});
  expect(quote.problems).toEqual([]);
  expect(quote).toMatchObject({ ok: true, totalMicros: { min: 40_000 } });
});

test("a run ends with its file and pays each step once, also where the balance is held by requests under way", async () => {
  const { refusals, submits, run } = await published();
  const more = { retryable: true, retry_after: 2, billing: funds };
  const held = envelope(402, "INSUFFICIENT_BALANCE", more, passing);
  refusals.chat.push(held, foreign(429, "rate_limit_exceeded", passing));
  refusals.submit.push(held);
  expect(await run()).toMatchObject({
    ...{ status: "succeeded", cost: { micros: 40_100 }, outputs: { words: "A red fox." } },
    report: { unconfirmed: "0.00" },
  });
  expect(submits).toHaveLength(1);
});

test.each([
  [
    "the envelope",
    envelope(402, "INSUFFICIENT_BALANCE", { retryable: false, billing: funds }, { "x-should-retry": "false" }),
  ],
  ["the other form", foreign(402, "insufficient_balance", { "x-should-retry": "false" })],
])("a final want of funds in %s pauses the run, and a resume ends it [G27]", async (_name, refusal) => {
  const { show, refusals, submits, run } = await published();
  refusals.chat.push(refusal);
  expect(await run()).toMatchObject({ status: "paused", pause: { reason: "funds" } });
  const resumed = await (await show.resume("x", { pipeline: film })).result();
  expect(resumed).toMatchObject({ status: "succeeded", cost: { micros: 40_100 } });
  expect(submits).toHaveLength(1);
});

test("a job is followed to its end, a token is had, and a webhook of today wakes the run of its job", async () => {
  const { client, show, resultOf, run } = await published();
  await run();
  for (const strategy of ["poll", "auto"] as const) {
    const types: string[] = [];
    for await (const event of client.follow("job_1", { strategy })) types.push(event.type);
    expect(types.at(-1)).toBe("finished");
  }
  expect(await client.tokens.create()).toMatchObject({ token: "tok" });
  const { privateKey, publicKey } = signingKey();
  const { cost: _, currency: __, ...envelope } = resultOf("job_1");
  const body = JSON.stringify(envelope);
  const headers = signedHeaders({ privateKey, body, signedAt: Date.now(), id: "job_1", brand: "Hedra" });
  const jobs: string[] = [];
  const receive = createWebhookReceiver({ show, publicKey, onDelivery: (jobId) => void jobs.push(jobId) });
  expect((await receive(new Request("http://r.test/", { method: "POST", headers, body }))).status).toBe(200);
  expect(jobs).toEqual(["job_1"]);
});
