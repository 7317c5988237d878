import { describe, expect, test } from "vitest";
import { finished, key, post, read, refusal, start, startHeld, submit } from "./support/service.ts";

const cat = { prompt: "a cat" };

describe("a submit", () => {
  test("is acknowledged with 202, and Location equals result_url [J2 J3 J4 J5 J6 J7 S4 T3 WJ30 X1]", async () => {
    const service = await start();
    const { status, body, headers } = await post(service, "/models/image-1", { input: cat });
    const result_url = `/v3/jobs/${body.job_id}`;
    expect([status, headers.get("location")]).toEqual([202, result_url]);
    const urls = { result_url, status_url: `${result_url}/status` };
    expect(body).toMatchObject({ model: "image-1", status: "IN_QUEUE", estimated_completion_at: null, ...urls });
  });

  test("shows outputs, metrics, cost and an end only when it has them, and a prompt or quality only of a model with one [P16 S4 S5 WJ1 WJ2 WJ3 WJ4 WJ12]", async () => {
    const service = await startHeld({ speed: 1 });
    const { job_id } = await submit(service, "image-1", cat);
    const waiting = await read(service, `/jobs/${job_id}`);
    expect(waiting).toMatchObject({ status: "IN_QUEUE", outputs: [], error: null, cost: 0.02, currency: "USD" });
    for (const name of ["created_at", "metrics"]) expect(waiting).not.toHaveProperty(name);
    await service.clock.advance(300);
    expect(await read(service, `/jobs/${job_id}`)).toMatchObject({ status: "IN_PROGRESS", outputs: [] });
    await service.clock.advance(2000);
    const done = await finished(service, job_id);
    const metrics = { processing_time_ms: 2000 };
    expect(done).toMatchObject({ status: "COMPLETED", metrics, ...cat, quality: "standard" });
    const [listed] = (await read(service, "/jobs")).data;
    expect(Date.parse(listed.completed_at) - Date.parse(listed.created_at)).toBe(2300);
    const input = { image: { source: "asset", asset_id: done.outputs[0].asset_id } };
    const plain = await read(service, `/jobs/${(await submit(service, "upscale-1", input)).job_id}`);
    for (const name of ["prompt", "quality"]) expect(plain).not.toHaveProperty(name);
  });

  test("has an estimate once the model has run, and the status refreshes it [J8 J9 J13 WJ8]", async () => {
    const service = await startHeld({ speed: 1 });
    const first = await submit(service, "image-1", cat);
    expect(first.estimated_completion_at).toBeNull();
    const status = () => read(service, `/jobs/${first.job_id}/status`);
    expect(await status()).toMatchObject({ status: "IN_QUEUE", progress: 0, estimated_completion_at: null });
    await service.clock.advance(300);
    const estimated_completion_at = new Date(service.clock.now() + 2000).toISOString();
    expect(await status()).toMatchObject({ status: "IN_PROGRESS", progress: 0, estimated_completion_at });
    await service.clock.advance(2000);
    await finished(service, first.job_id);
    const second = await submit(service, "image-1", cat);
    expect(second.estimated_completion_at).toBe(new Date(service.clock.now() + 2300).toISOString());
  });

  test("ignores unknown fields beside input, and nulls [P3 P4 WK3]", async () => {
    await submit(await start(), "image-1", cat, { webhook: null, idempotency_key: null, something: { else: 1 } });
  });
});

describe("an idempotency key", () => {
  test("replays the original ack, even with another body and another key of the workspace [P4 WC16 WJ31 WJ32]", async () => {
    const service = await start();
    const first = await post(service, "/models/image-1", { input: cat, idempotency_key: "k" });
    await finished(service, first.body.job_id);
    const colleague = await key(service, { owner_id: "someone" });
    const again = await post(service, "/models/image-1", { input: {}, idempotency_key: "k" }, colleague);
    expect([again.status, again.body]).toEqual([202, first.body]);
    expect([first, again].map(({ headers }) => headers.get("x-idempotent-replayed"))).toEqual([null, "true"]);
    expect(service.stats()).toMatchObject({ jobs_created: 1, replayed_submits: 1, charged_micros: 20_000 });
  });

  test("makes one job under many duplicates at once [T4 WJ32 WK1]", async () => {
    const service = await start();
    const body = { input: cat, idempotency_key: "k" };
    const replies = await Promise.all(Array.from({ length: 40 }, () => post(service, "/models/image-1", body)));
    expect(new Set(replies.map((reply) => reply.body.job_id)).size).toBe(1);
    expect(replies.filter((reply) => reply.headers.get("x-idempotent-replayed") === null)).toHaveLength(1);
    expect(service.stats().jobs_by_key).toEqual({ k: 1 });
  });

  test("is refused with another model, and is free in another workspace [WC16 WJ33]", async () => {
    const service = await start();
    await submit(service, "image-1", cat, { idempotency_key: "k" });
    const other = await post(service, "/models/video-1", { input: {}, idempotency_key: "k" });
    expect(other).toMatchObject(refusal(409, "ALREADY_EXISTS"));
    await service.fund(1, "elsewhere");
    const credential = await key(service, { workspace_id: "elsewhere" });
    const mine = await post(service, "/models/image-1", { input: cat, idempotency_key: "k" }, credential);
    expect([mine.status, mine.headers.get("x-idempotent-replayed")]).toEqual([202, null]);
  });
});
