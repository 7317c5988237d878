import { expect, test } from "vitest";
import { change, drain, drainNow, SECRET } from "../support/drains.ts";
import { receiver } from "../support/receiver.ts";
import { ask, type Body, get, key, post, read, refusal, start, startHeld } from "../support/service.ts";

const URL_A = "https://example.com/logs";

test("a drain is created, read, listed, changed and removed; its secret and header values are never shown [WD1 WD3]", async () => {
  const service = await startHeld();
  const [keyId] = service.apiKey.split(":");
  const headers = { Authorization: "Bearer hidden-value", "X-Team": "video" };
  const made = await post(service, "/log-drains", { name: "logs", url: URL_A, secret: SECRET, headers });
  const now = new Date(service.clock.now()).toISOString();
  expect(made.status).toBe(201);
  expect(made.body).toEqual({
    ...{ id: expect.stringMatching(/^drain_[0-9a-f-]{36}$/), name: "logs", url: URL_A, format: "ndjson" },
    ...{ header_names: ["Authorization", "X-Team"], enabled: true, batch_size: 1000, disabled_reason: null },
    ...{ consecutive_failures: 0, last_success_at: null, last_failure_at: null, last_failure_status: null },
    ...{ last_error: null, created_at: now, updated_at: now, updated_by_key_id: keyId },
  });
  const path = `/log-drains/${made.body.id}`;
  expect(await read(service, path)).toEqual(made.body);
  expect(await read(service, "/log-drains")).toEqual({ data: [made.body], next_cursor: null });
  await service.clock.advance(5_000);
  const changed = await change(service, made.body.id, { name: "renamed", batch_size: 5, headers: {}, url: null });
  const updated_at = new Date(service.clock.now()).toISOString();
  const body = { name: "renamed", batch_size: 5, header_names: [], url: URL_A, created_at: now, updated_at };
  expect(changed).toMatchObject({ status: 200, body });
  for (const secret of ["hidden-value", SECRET])
    expect(JSON.stringify([made.body, changed.body])).not.toContain(secret);
  expect((await ask(service, "DELETE", path)).status).toBe(204);
  for (const method of ["GET", "DELETE"]) expect((await ask(service, method, path)).status).toBe(404);
  expect((await change(service, made.body.id, { name: "x" })).status).toBe(404);
  expect((await ask(service, "POST", `${path}/test`)).status).toBe(404);
});

test.each<[string, object, string, string]>([
  ["no name", { name: undefined }, "name", "required"],
  ["an empty name", { name: "" }, "name", "minLength"],
  ["a name of 101 characters", { name: "n".repeat(101) }, "name", "maxLength"],
  ["no URL", { url: undefined }, "url", "required"],
  ["a URL that is none", { url: "logs" }, "url", "format"],
  ["a URL of another scheme", { url: "syslog://example.com" }, "url", "format"],
  ["an unknown format", { format: "xml" }, "format", "enum"],
  ["no secret for ndjson", { secret: undefined }, "secret", "required"],
  ["a null secret for ndjson", { secret: null, format: "ndjson" }, "secret", "required"],
  ["a secret of 63 characters", { secret: "s".repeat(63) }, "secret", "minLength"],
  ["a secret of 4097 characters", { secret: "s".repeat(4097) }, "secret", "maxLength"],
  ["a batch of 0", { batch_size: 0 }, "batch_size", "minimum"],
  ["a batch of 5001", { batch_size: 5001 }, "batch_size", "maximum"],
  ["a batch that is no integer", { batch_size: 1.5 }, "batch_size", "type"],
  ["enabled as text", { enabled: "yes" }, "enabled", "type"],
  ["a header with a line break", { headers: { A: "x\r\nB: y" } }, "headers.A", "format"],
  ["a header name that is none", { headers: { "a b": "x" } }, "headers.a b", "format"],
  ["a header that the connection sets", { headers: { Host: "x" } }, "headers.Host", "format"],
  ["a signature of one's own", { headers: { "X-Studio-Signature": "x" } }, "headers.X-Studio-Signature", "format"],
  ["a header value that is no text", { headers: { A: 1 } }, "headers.A", "type"],
])("%s is 400, by field and reason", async (_name, wrong, field, reason) => {
  const service = await start();
  const body = { name: "logs", url: URL_A, secret: SECRET, ...wrong };
  const error = { code: "INVALID_ARGUMENT", param: field, details: [{ field, reason }] };
  expect(await post(service, "/log-drains", body)).toMatchObject(refusal(400, error));
});

test("every bad field is named at once, the missing secret too", async () => {
  const service = await start();
  const reply = await post(service, "/log-drains", { name: "", batch_size: 9999 });
  const fields = reply.body.error.details.map((item: Body) => item.field);
  expect(fields.toSorted()).toEqual(["batch_size", "name", "secret", "url"]);
  expect(reply.body.error.message).toContain("4 invalid input fields");
});

test("the limits themselves are allowed [WD1]", async () => {
  const service = await start();
  const least = await drain(service, { name: "n", url: URL_A, secret: "s".repeat(64), batch_size: 1 });
  const most = await drain(service, { name: "n".repeat(100), url: URL_A, secret: "s".repeat(4096), batch_size: 5000 });
  expect([least.batch_size, most.batch_size]).toEqual([1, 5000]);
});

test("OTLP needs no secret; going over to ndjson does [WD2]", async () => {
  const service = await start();
  const { id, format } = await drain(service, { url: URL_A, format: "otlp", secret: null });
  expect(format).toBe("otlp");
  const error = { param: "secret", details: [{ reason: "required" }] };
  expect(await change(service, id, { format: "ndjson" })).toMatchObject(refusal(400, error));
  expect((await drainNow(service, id)).format).toBe("otlp");
  const changed = await change(service, id, { format: "ndjson", secret: SECRET });
  expect(changed).toMatchObject({ status: 200, body: { format: "ndjson" } });
});

test("a change is checked like a new drain", async () => {
  const service = await start();
  const { id } = await drain(service, { url: URL_A });
  for (const [body, param] of [
    [{ name: "" }, "name"],
    [{ url: "x" }, "url"],
    [{ secret: "short" }, "secret"],
    [{ batch_size: 5001 }, "batch_size"],
    [{ headers: { "Content-Length": "1" } }, "headers.Content-Length"],
  ] as const) {
    expect(await change(service, id, body)).toMatchObject({ status: 400, body: { error: { param } } });
  }
});

test("drains belong to the workspace: its other owners see them", async () => {
  const service = await start();
  const { id } = await drain(service, { url: URL_A });
  const colleague = { credential: await key(service, { owner_id: "colleague" }) };
  expect((await get(service, `/log-drains/${id}`, colleague)).status).toBe(200);
});

test("a workspace has at most 50 drains", async () => {
  const service = await start();
  for (let index = 0; index < 50; index += 1) await drain(service, { url: URL_A });
  const more = await post(service, "/log-drains", { name: "logs", url: URL_A, secret: SECRET });
  expect(more).toMatchObject(refusal(400, "FAILED_PRECONDITION"));
});

test("a test posts one sample event, tells how it went, and counts as nothing [WD11]", async () => {
  const service = await start();
  const hook = await receiver((index) => (index === 0 ? 200 : 500));
  const made = await drain(service, { url: hook.url, enabled: false });
  const tested = async () => (await ask(service, "POST", `/log-drains/${made.id}/test`)).body;
  expect(await tested()).toEqual({ ok: true, response_status: 200, error: null });
  expect(hook.received[0]!.headers["content-type"]).toBe("application/x-ndjson");
  const failed = (error: RegExp) => ({ ok: false, error: expect.stringMatching(error) });
  expect(await tested()).toMatchObject({ response_status: 500, ...failed(/^UNAVAILABLE: /) });
  expect(await drainNow(service, made.id)).toEqual(made);
  await change(service, made.id, { url: "http://10.0.0.1/" });
  expect(await tested()).toMatchObject({ response_status: null, ...failed(/^FAILED_PRECONDITION: /) });
});
