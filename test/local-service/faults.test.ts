import { expect, test } from "vitest";
import type { FaultRule } from "../../src/local-service/index.ts";
import { finished, frames, get, made, post, read, start, startHeld, submit } from "./support/service.ts";

const cat = { prompt: "a cat" };
const submitRoute = "POST /models/{model}";
const body = { input: cat, idempotency_key: "k" };

test("a connection dropped before the work leaves no job; after it, the ack is lost and the same key finds the job [E45 E46]", async () => {
  const service = await start();
  service.faults([{ kind: "drop", when: "before", route: submitRoute, count: 1 }]);
  await expect(post(service, "/models/image-1", body)).rejects.toThrow();
  expect(service.stats().jobs_created).toBe(0);
  service.faults([{ kind: "drop", when: "after", route: submitRoute, count: 1 }]);
  await expect(post(service, "/models/image-1", body)).rejects.toThrow();
  const again = await post(service, "/models/image-1", body);
  expect(again.headers.get("x-idempotent-replayed")).toBe("true");
  expect(service.stats()).toMatchObject({ jobs_created: 1, charged_micros: 20_000 });
});

test("429 and 5xx strike by route, model and prompt, so often, after so many", async () => {
  const service = await start();
  const rules: FaultRule[] = [
    { kind: "error", code: "RESOURCE_EXHAUSTED", retry_after: 7, route: "GET /balance", count: 1 },
    { kind: "error", code: "UNAVAILABLE", model: "image-1", prompt: "\\bdog\\b", skip: 1, count: 2 },
  ];
  expect((await post(service, "/_local/faults", { rules })).status).toBe(200);
  const { status, headers } = await get(service, "/balance");
  expect([status, headers.get("retry-after"), headers.get("x-ratelimit-remaining")]).toEqual([429, "7", "0"]);
  expect((await get(service, "/balance")).status).toBe(200);
  const statuses: number[] = [];
  for (const prompt of ["a dog", "a dog", "a cat", "a dog", "a dog"])
    statuses.push((await post(service, "/models/image-1", { input: { prompt } })).status);
  expect(statuses).toEqual([202, 503, 202, 503, 202]);
  const view = (await read(service, "/_local/faults")).rules;
  expect(view.map((rule: { struck: number }) => rule.struck)).toEqual([1, 2]);
});

test("an error without an envelope looks like a proxy's", async () => {
  const service = await start();
  service.faults([{ kind: "error", code: "UNAVAILABLE", status: 502, envelope: false }]);
  expect(await get(service, "/jobs")).toMatchObject({ status: 502, body: expect.stringContaining("<h1>") });
});

test("the same seed strikes the same matches, another seed others", async () => {
  const service = await start();
  const pattern = async (seed: number) => {
    service.faults([{ kind: "error", code: "UNAVAILABLE", probability: 0.5 }], seed);
    const statuses: number[] = [];
    for (let turn = 0; turn < 24; turn++) statuses.push((await get(service, "/balance")).status);
    return statuses.join();
  };
  const first = await pattern(7);
  expect(first).toContain("200");
  expect(first).toContain("503");
  expect(await pattern(7)).toBe(first);
  expect(await pattern(8)).not.toBe(first);
});

test("outputs expire at once, frame rates and costs come late [O5 O14 O21 WJ6 WJ7]", async () => {
  const service = await startHeld();
  service.faults([
    { kind: "expire_now", model: "image-1" },
    { kind: "fps_late", delay_ms: 1000, model: "video-1" },
    { kind: "cost_late", delay_ms: 1000, model: "video-1" },
  ]);
  expect((await made(service, "image-1", cat)).outputs[0]).toMatchObject({ status: "EXPIRED", url: null });
  const film = await made(service, "video-1", { prompt: "x", aspect_ratio: "1:1", duration_ms: 3000 });
  expect(film).toMatchObject({ status: "COMPLETED", outputs: [{ fps: null }] });
  for (const name of ["cost", "currency"]) expect(film).not.toHaveProperty(name);
  await service.clock.advance(1000);
  const later = await read(service, `/jobs/${film.job_id}`);
  expect(later).toMatchObject({ cost: 0.18, currency: "USD", outputs: [{ fps: 5 }] });
});

test("a download is truncated, and a range resumes it", async () => {
  const service = await start();
  const { url } = (await made(service, "image-1", cat)).outputs[0];
  const whole = Buffer.from(await (await fetch(url)).arrayBuffer());
  service.faults([{ kind: "truncate_download", bytes: 10, count: 1 }]);
  const cut = await fetch(url);
  expect(cut.headers.get("content-length")).toBe(String(whole.length));
  await expect(cut.arrayBuffer()).rejects.toThrow();
  const rest = await fetch(url, { headers: { Range: "bytes=10-", "If-Range": cut.headers.get("etag") ?? "" } });
  expect(rest.status).toBe(206);
  expect(Buffer.from(await rest.arrayBuffer())).toEqual(whole.subarray(10));
  const changed = await fetch(url, { headers: { Range: "bytes=10-", "If-Range": '"other"' } });
  expect(changed.status).toBe(200);
  expect((await fetch(url, { headers: { Range: "bytes=100000-" } })).status).toBe(416);
  expect((await fetch(url, { headers: { Range: "bytes=-5" } })).headers.get("content-length")).toBe("5");
  expect((await fetch(`${url}x`)).status).toBe(403);
});

test("a service may check funds before the key, or forget the key", async () => {
  const service = await start({ balance: 0.02 });
  await submit(service, "image-1", cat, { idempotency_key: "k" });
  service.faults([{ kind: "funds_before_keys", count: 1 }]);
  expect((await post(service, "/models/image-1", body)).status).toBe(402);
  expect((await post(service, "/models/image-1", body)).status).toBe(202);
  await service.fund(1);
  service.faults([{ kind: "forget_key", count: 1 }]);
  const second = await post(service, "/models/image-1", body);
  expect(second.headers.get("x-idempotent-replayed")).toBeNull();
  expect(service.stats().jobs_by_key).toEqual({ k: 2 });
});

test("slow streams still arrive whole, and a reset one can be resumed", async () => {
  const service = await start();
  const { job_id } = await submit(service, "image-1", cat);
  await finished(service, job_id);
  service.faults([{ kind: "slow_stream", delay_ms: 1, count: 1 }]);
  expect((await frames(service, job_id)).at(-1)?.event).toBe("done");
  service.faults([{ kind: "cut_stream", after_frames: 2, clean: false, count: 1 }]);
  await expect(frames(service, job_id)).rejects.toThrow();
  expect(await frames(service, job_id)).toHaveLength(10);
});

test("a rule that is not understood is refused with its position", async () => {
  const service = await start();
  const { body } = await post(service, "/_local/faults", { rules: [{ kind: "delay", delay_ms: "soon" }] });
  expect(body.error.details[0]).toMatchObject({ field: "rules[0].delay_ms", reason: "type" });
});

test("a fault without a route strikes /v3 alone, and every fault that strikes requests can be removed", async () => {
  const service = await start();
  const everyRequest: readonly FaultRule[] = [
    { kind: "error" },
    { kind: "error", envelope: false, status: 404 },
    { kind: "error", route: "POST /faults" },
    { kind: "drop", when: "before" },
    { kind: "drop", when: "after" },
    { kind: "delay", delay_ms: 86_400_000 },
  ];
  const operator = ["/stats", "/wallet", "/clock", "/fund", "/faults"];
  for (const rule of everyRequest) {
    service.faults([rule]);
    for (const path of operator) expect((await get(service, `/_local${path}`)).status, path).toBe(200);
    expect((await post(service, "/_local/faults", { rules: [] })).status).toBe(200);
    expect((await get(service, "/balance")).status).toBe(200);
  }
});
