import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { loadRun } from "../../../src/core/journal/run-repository.ts";
import { parseUsd } from "../../../src/core/kit/money.ts";
import type { CallerDocument, CallerOutput, QuoteDocument, RunLine } from "../../../src/studio/handler/index.ts";
import { localShow } from "../../support/local-show.ts";
import { PIXEL } from "../../support/tiny-media.ts";
import { errorOf, eventsIn, keyed, quoteOf, type Served, serve, textUntil } from "./support/served.ts";

const world = localShow();
let api: Served;

beforeAll(() => {
  api = serve(world.show, join(world.folder, "sent"));
});

describe("a pipeline as an endpoint", () => {
  test("is priced, started, followed to its end, and its file comes in ranges from a signed address", async () => {
    const quote = await (await api.post("/api/still/quote", { input: { prompt: "grey" } })).json();
    expect(quote).toMatchObject({ total: { expected: expect.stringMatching(/^0\.\d/) }, left: "1.00", step_count: 1 });
    const begun = await api.start("order-1");
    const events = await api.send(`/api/runs/${begun.id}/events`);
    expect(events.headers.get("Content-Type")).toMatch("text/event-stream");
    const text = await textUntil(events, () => false);
    const seen = eventsIn(text);
    expect(seen.map(({ id }) => id)).toEqual(seen.map((_, index) => index + 1));
    expect(seen.at(-1)?.type).toBe("run.finished");
    const run = await api.until(begun.id);
    expect(run.status).toBe("succeeded");
    const { url, content_type: contentType } = run.outputs.still as CallerOutput;
    expect([contentType, url.startsWith("/api/media/")]).toEqual(["image/png", true]);
    const whole = await api.send(url, { as: null });
    const bytes = new Uint8Array(await whole.arrayBuffer());
    expect([whole.status, whole.headers.get("Content-Type")]).toEqual([200, contentType]);
    const part = await api.send(url, { as: null, headers: { Range: "bytes=2-5" } });
    expect([part.status, part.headers.get("Content-Range")]).toEqual([206, `bytes 2-5/${bytes.length}`]);
    expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.slice(2, 6));
    expect((await api.send(url, { as: null, headers: { Range: "bytes=999999999-" } })).status).toBe(416);
    const known = await api.send(url, { as: null, headers: { "If-None-Match": whole.headers.get("ETag")! } });
    expect(known.status).toBe(304);
    expect(JSON.stringify(run)).not.toContain(world.folder);
    expect(text).not.toContain(world.folder);
  });

  test("the same key is the same run, also at once; with another input it is refused", async () => {
    const input = { prompt: "same" };
    const runs = await Promise.all(Array.from({ length: 5 }, () => api.start("order-2", input)));
    expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
    const other = await api.post("/api/still/runs", { input: { prompt: "else" } }, keyed("order-2"));
    expect([other.status, (await errorOf(other)).code]).toEqual([409, "RUN_DIFFERS"]);
    const foreign = await api.start("order-2", input, { as: "rival" });
    expect(foreign.id).not.toBe(runs[0]!.id);
    await Promise.all([api.until(runs[0]!.id), api.until(foreign.id)]);
  });

  test("a stream is resumed after the last event that was seen, and a finished one is over", async () => {
    const { id } = await api.start("order-3");
    await api.until(id);
    const all = eventsIn(await api.events(id));
    expect(eventsIn(await api.events(id, { headers: { "Last-Event-ID": "3" } }))).toEqual(all.slice(3));
    const over = await api.send(`/api/runs/${id}/events`, { headers: { "Last-Event-ID": String(all.length) } });
    expect(over.status).toBe(204);
    for (const forged of ["-1", "1e9", "999999", "../x", "1 OR 1=1"]) {
      expect(eventsIn(await api.events(id, { headers: { "Last-Event-ID": forged } }))).toEqual(all);
    }
  });

  test("what waits is shown and picked; the run continues by itself", async () => {
    const { id } = await api.start("order-4", { prompt: "grey" }, { at: "picked" });
    const waits = await api.until(id, "paused");
    expect(waits.waiting).toMatchObject([{ message: "Which?", choose: true }]);
    const [one] = waits.waiting;
    expect(one!.outputs).toHaveLength(2);
    const wrong = await api.post(`/api/runs/${id}/decisions`, { step: one!.step, approve: true, pick: 7 });
    expect([wrong.status, (await errorOf(wrong)).field]).toEqual([400, "pick"]);
    const decision = { step: one!.step, approve: true, pick: 1, note: "softer" };
    expect((await api.post(`/api/runs/${id}/decisions`, decision)).status).toBe(200);
    const run = await api.until(id, "succeeded");
    expect((run.outputs.look as { url: string }).url).toBe(one!.outputs[1]!.url);
  });

  test("a stop holds the run", async () => {
    const { id } = await api.start("order-5", { prompt: "grey" }, { at: "picked" });
    expect((await api.post(`/api/runs/${id}/stop`, {})).status).toBe(200);
    expect((await api.until(id, "paused")).status).toBe("paused");
  });

  test("lists the caller's runs, newest first", async () => {
    const listed = async (query: string, as = "acme") =>
      ((await (await api.send(`/api/runs${query}`, { as })).json()) as { runs: RunLine[] }).runs;
    const times = (await listed("?limit=3")).map(({ created_at }) => created_at);
    expect(times).toHaveLength(3);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(await listed("", "nobody")).toEqual([]);
  });
});

describe("what is refused", () => {
  test("says the field and the next step", async () => {
    const bad = await api.post("/api/still/quote", { input: { prompt: 3 } });
    expect([bad.status, await errorOf(bad)]).toMatchObject([422, { code: "PLAN_PROBLEMS", field: "input.prompt" }]);
    const keyless = await api.post("/api/still/runs", { input: { prompt: "x" } });
    expect([keyless.status, (await errorOf(keyless)).field]).toEqual([400, "Idempotency-Key"]);
    expect((await api.send("/api/runs", { as: null })).status).toBe(401);
    expect((await api.post("/api/nothing/quote", {})).status).toBe(404);
    expect((await api.send("/api/still/quote", { method: "POST", body: "x" })).status).toBe(415);
    expect((await api.post("/api/still/quote", { input: { prompt: "x".repeat(1 << 20) } })).status).toBe(413);
  });

  test("a run of somebody else is as absent as one that never was", async () => {
    const { id } = await api.start("theirs");
    await api.until(id);
    for (const path of [`/api/runs/${id}`, `/api/runs/${id}/events`, "/api/runs/never"]) {
      const response = await api.send(path, { as: "rival" });
      const error = { code: "NOT_FOUND", message: "This run was not found.", field: null, reference: null };
      expect([response.status, await errorOf(response)]).toEqual([404, error]);
    }
    expect((await api.post(`/api/runs/${id}/stop`, {}, { as: "rival" })).status).toBe(404);
  });

  test("a start without a quote, or with one of something else, is answered with the quote to agree to", async () => {
    const input = { prompt: "agreed" };
    const start = (body: object) => api.post("/api/still/runs", { input, ...body }, keyed("agreed"));
    const none = await start({});
    expect(none.status).toBe(428);
    const { error } = (await none.json()) as { error: { code: string; field: string; quote: QuoteDocument } };
    const quote = { open_steps: [], left: expect.any(String) };
    expect(error).toMatchObject({ code: "QUOTE_NEEDED", field: "quote", quote });
    const other = await start({ input: { prompt: "another" }, quote: error.quote.id });
    const message = expect.stringContaining("input.prompt changed");
    expect([other.status, await errorOf(other)]).toMatchObject([409, { code: "QUOTE_REFUSED", message }]);
    expect((await start({ quote: error.quote.id })).status).toBe(201);
    expect((await start({ quote: error.quote.id })).status).toBe(200);
    expect((await start({})).status).toBe(200);
  });

  test("without a budget of the caller, the accepted quote is a run's only limit, and the request needs no budget", async () => {
    const unlimited = serve(world.show, join(world.folder, "sent"), {
      authorize: () => ({ tags: { customer: "unlimited" } }),
    });
    const input = { prompt: "unlimited" };
    const quote = await quoteOf(await unlimited.post("/api/still/quote", { input }));
    expect(quote.left).toBe(null);
    const body = { input, quote: quote.id };
    const started = await unlimited.post("/api/still/runs", body, keyed("unlimited"));
    expect(started.status).toBe(201);
    const { id } = (await started.json()) as CallerDocument;
    await unlimited.until(id);
    const [row] = await world.show.runs({ tags: { customer: "unlimited" } });
    const { budgetMicros } = await loadRun(world.show.journal, row!.runId);
    expect(budgetMicros).toBe(parseUsd(quote.maximum));
    const again = await unlimited.post("/api/still/runs", { input }, keyed("unlimited"));
    expect([again.status, ((await again.json()) as CallerDocument).id]).toEqual([200, id]);
  });

  test("parallel starts never spend more than the caller's budget", async () => {
    const poor = serve(world.show, join(world.folder, "sent"), {
      authorize: () => ({ tags: { customer: "poor" }, budget: "0.05" }),
    });
    const { total } = await quoteOf(await poor.post("/api/still/quote", { input: { prompt: "x" } }));
    const price = Number(total.expected);
    const starts = await Promise.all(
      Array.from({ length: 12 }, async (_, n) => {
        const input = { prompt: `n${n}` };
        const { id: quote } = await quoteOf(await poor.post("/api/still/quote", { input }));
        return poor.post("/api/still/runs", { input, quote }, keyed(`k${n}`));
      }),
    );
    const rows = await world.show.runs({ tags: { customer: "poor" } });
    await Promise.all(rows.map(async ({ runId }) => (await world.show.follow(runId)).result()));
    const { spentMicros, heldMicros } = await world.show.spending({ tag: "customer=poor" });
    expect(spentMicros + heldMicros).toBeLessThanOrEqual(50_000);
    expect(spentMicros).toBe(Math.floor(0.05 / price) * price * 1e6);
    expect(starts.every(({ status }) => status === 201 || status === 402)).toBe(true);
    expect((await poor.post("/api/still/runs", { input: { prompt: "late" } }, keyed("late"))).status).toBe(402);
  });
});

test("a file is sent as a part of a form, or refused where it is a path", async () => {
  const form = new FormData();
  form.set("input", JSON.stringify({ prompt: "with a photo" }));
  form.set("photo", new File([PIXEL], "../../me.png", { type: "image/png" }));
  const sent = await api.send("/api/still/quote", { method: "POST", body: form });
  expect([sent.status, await sent.text()]).toMatchObject([200, expect.stringContaining("expected")]);
  for (const photo of ["/etc/passwd", "../x.png", "file:///etc/passwd", "a.png", { path: "/etc/hosts" }, "C:\\x.png"]) {
    const response = await api.post("/api/still/quote", { input: { prompt: "x", photo } });
    expect([response.status, (await errorOf(response)).field]).toEqual([400, expect.stringMatching(/photo/)]);
  }
  const inside = await api.post("/api/still/quote", { input: { prompt: "x", photo: "http://127.0.0.1:1/x.png" } });
  expect((await errorOf(inside)).message).toMatch(/does not resolve to a public address/);
});

test("the document is valid OpenAPI and has each pipeline's input", async () => {
  const { Validator } = await import("@seriousme/openapi-schema-validator");
  const document = (await (await api.send("/api/openapi.json")).json()) as object;
  expect(await new Validator().validate(structuredClone(document) as never)).toMatchObject({ valid: true });
  const properties = { prompt: { type: "string", maxLength: 500 } };
  expect(document).toMatchObject({ components: { schemas: { "still.input": { properties } } } });
  expect(api.defects).toEqual([]);
});
