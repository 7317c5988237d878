import { describe, expect, test } from "vitest";
import { ask, finished, get, start, submit } from "./support/service.ts";

const cat = { prompt: "a cat" };

describe("a submit", () => {
  test("is acknowledged with 202, and Location equals result_url [J2 J3 J4 J5 J6 J7 S4 T3 WJ30 X1]", async () => {
    const service = await start();
    const reply = await ask(service, "POST", "/models/image-1", { body: { input: cat } });
    expect(reply.status).toBe(202);
    expect(reply.body).toMatchObject({ model: "image-1", status: "IN_QUEUE", estimated_completion_at: null });
    expect(reply.body.result_url).toBe(`/v3/jobs/${reply.body.job_id}`);
    expect(reply.body.status_url).toBe(`/v3/jobs/${reply.body.job_id}/status`);
    expect(reply.headers.get("location")).toBe(reply.body.result_url);
  });

  test("shows outputs, metrics, cost and an end only when it has them, and a prompt or quality only of a model with one [P16 S4 S5 WJ1 WJ2 WJ3 WJ4 WJ12]", async () => {
    const service = await start({ speed: 1 });
    service.clock.manual();
    const { job_id } = await submit(service, "image-1", cat);
    const read = async (id: string) => (await get(service, `/jobs/${id}`)).body;
    const waiting = await read(job_id);
    expect(waiting).toMatchObject({ status: "IN_QUEUE", outputs: [], error: null, cost: 0.02, currency: "USD" });
    for (const name of ["created_at", "metrics"]) expect(waiting).not.toHaveProperty(name);
    await service.clock.advance(300);
    expect(await read(job_id)).toMatchObject({ status: "IN_PROGRESS", outputs: [] });
    await service.clock.advance(2000);
    const done = await finished(service, job_id);
    expect(done).toMatchObject({
      status: "COMPLETED",
      metrics: { processing_time_ms: 2000 },
      ...cat,
      quality: "standard",
    });
    const [listed] = (await get(service, "/jobs")).body.data;
    expect(Date.parse(listed.completed_at) - Date.parse(listed.created_at)).toBe(2300);
    const input = { image: { source: "asset", asset_id: done.outputs[0].asset_id } };
    const plain = await read((await submit(service, "upscale-1", input)).job_id);
    expect(plain).not.toHaveProperty("prompt");
    expect(plain).not.toHaveProperty("quality");
  });

  test("has an estimate once the model has run, and the status refreshes it [J8 J9 J13 WJ8]", async () => {
    const service = await start({ speed: 1 });
    service.clock.manual();
    const first = await submit(service, "image-1", cat);
    expect(first.estimated_completion_at).toBeNull();
    const waiting = await get(service, `/jobs/${first.job_id}/status`);
    expect(waiting.body).toMatchObject({ status: "IN_QUEUE", progress: 0, estimated_completion_at: null });
    await service.clock.advance(300);
    const running = await get(service, `/jobs/${first.job_id}/status`);
    expect(running.body).toMatchObject({ status: "IN_PROGRESS", progress: 0 });
    expect(running.body.estimated_completion_at).toBe(new Date(service.clock.now() + 2000).toISOString());
    await service.clock.advance(2000);
    await finished(service, first.job_id);
    const second = await submit(service, "image-1", cat);
    expect(second.estimated_completion_at).toBe(new Date(service.clock.now() + 2300).toISOString());
  });

  test("ignores unknown fields beside input, and nulls [P3 P4 WK3]", async () => {
    const service = await start();
    const body = { input: cat, webhook: null, idempotency_key: null, something: { else: 1 } };
    expect((await ask(service, "POST", "/models/image-1", { body })).status).toBe(202);
  });
});

describe("an idempotency key", () => {
  test("replays the original ack, even with another body and another key of the workspace [P4 WC16 WJ31 WJ32]", async () => {
    const service = await start();
    const first = await ask(service, "POST", "/models/image-1", { body: { input: cat, idempotency_key: "k" } });
    await finished(service, first.body.job_id);
    const credential = (await ask(service, "POST", "/_local/keys", { body: { owner_id: "someone" } })).body.credential;
    const again = await ask(service, "POST", "/models/image-1", {
      body: { input: {}, idempotency_key: "k" },
      credential,
    });
    expect(again.status).toBe(202);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("x-idempotent-replayed")).toBe("true");
    expect(first.headers.get("x-idempotent-replayed")).toBeNull();
    expect(service.stats()).toMatchObject({ jobs_created: 1, replayed_submits: 1, charged_micros: 20_000 });
  });

  test("makes one job under many duplicates at once [T4 WJ32 WK1]", async () => {
    const service = await start();
    const body = { input: cat, idempotency_key: "k" };
    const replies = await Promise.all(
      Array.from({ length: 40 }, () => ask(service, "POST", "/models/image-1", { body })),
    );
    expect(new Set(replies.map((reply) => reply.body.job_id)).size).toBe(1);
    expect(replies.filter((reply) => reply.headers.get("x-idempotent-replayed") === null)).toHaveLength(1);
    expect(service.stats().jobs_by_key).toEqual({ k: 1 });
  });

  test("is refused with another model, and is free in another workspace [WC16 WJ33]", async () => {
    const service = await start();
    await submit(service, "image-1", cat, { idempotency_key: "k" });
    const other = await ask(service, "POST", "/models/video-1", { body: { input: {}, idempotency_key: "k" } });
    expect(other.status).toBe(409);
    expect(other.body.error.code).toBe("ALREADY_EXISTS");
    await service.fund(1, "elsewhere");
    const credential = (await ask(service, "POST", "/_local/keys", { body: { workspace_id: "elsewhere" } })).body
      .credential;
    const mine = await ask(service, "POST", "/models/image-1", {
      body: { input: cat, idempotency_key: "k" },
      credential,
    });
    expect(mine.status).toBe(202);
    expect(mine.headers.get("x-idempotent-replayed")).toBeNull();
  });
});
