import { describe, expect, test } from "vitest";
import { startLocalService } from "../../src/local-service/index.ts";
import { ask, type Body, get, post, read, start, startHeld } from "./support/service.ts";

describe("keys", () => {
  test("are created with a credential shown once, listed without it, and revoked [A1 P33 P34 P36 WA6 WA7 WA10]", async () => {
    const service = await start();
    const made = await post(service, "/keys", { name: "ci", scopes: ["jobs:read"], kind: "service" });
    expect(made.status).toBe(201);
    const names = "created_at credential expires_at key_id kind name scopes workspace_id".split(" ");
    expect(Object.keys(made.body).toSorted()).toEqual(names);
    const { key_id, credential } = made.body;
    expect((await get(service, "/jobs", { credential })).status).toBe(200);
    const listed = (await read(service, "/keys")).data.find((item: Body) => item.key_id === key_id);
    expect(listed).toMatchObject({ kind: "service", name: "ci", status: "active", revoked_at: null });
    expect(listed.last_used_at).not.toBeNull();
    expect(JSON.stringify(listed)).not.toContain(credential.split(":")[1]);
    for (let turn = 0; turn < 2; turn++) expect((await ask(service, "DELETE", `/keys/${key_id}`)).status).toBe(204);
    expect((await get(service, "/jobs", { credential })).status).toBe(401);
    expect((await ask(service, "DELETE", "/keys/key_none")).status).toBe(404);
    const nonsense = await post(service, "/keys", { scopes: ["everything"] });
    expect(nonsense.body.error.details[0]).toMatchObject({ field: "scopes[0]", reason: "enum" });
  });

  test("keep their old secret for the grace period after a rotation [P35 WA8 WA9 WK4]", async () => {
    const service = await startHeld();
    const made = await post(service, "/keys", { name: "robot", scopes: ["jobs:read"] });
    const { created_at, credential, ...kept } = made.body;
    const rotate = `/keys/${kept.key_id}/rotate`;
    const rotated = await post(service, rotate, { grace_period_seconds: 60 });
    expect(rotated.body).toEqual({
      ...kept,
      credential: expect.stringMatching(/:/),
      previous_secret_expires_at: new Date(service.clock.now() + 60_000).toISOString(),
    });
    expect((await get(service, "/jobs", { credential })).status).toBe(200);
    await service.clock.advance(60_000);
    expect((await get(service, "/jobs", { credential })).status).toBe(401);
    expect((await get(service, "/jobs", { credential: rotated.body.credential })).status).toBe(200);
    const bodyless = await ask(service, "POST", rotate);
    expect(bodyless.body.previous_secret_expires_at).toBe(new Date(service.clock.now() + 86_400_000).toISOString());
  });

  test("expire [WA7 WA10]", async () => {
    const service = await startHeld();
    const expires_at = new Date(service.clock.now() + 1000).toISOString();
    const { credential, key_id } = (await post(service, "/keys", { expires_at })).body;
    expect((await get(service, "/jobs", { credential })).status).toBe(200);
    await service.clock.advance(1000);
    expect((await get(service, "/jobs", { credential })).status).toBe(401);
    const listed = (await read(service, "/keys")).data.find((item: Body) => item.key_id === key_id);
    expect(listed.status).toBe("expired");
    expect((await post(service, "/keys", { expires_at })).status).toBe(400);
  });
});

test("tokens live an hour by default and a day at most [A7 P37 WK4]", async () => {
  const service = await startHeld();
  const { status, body } = await ask(service, "POST", "/tokens");
  expect(status).toBe(201);
  expect(body.expires_at).toBe(new Date(service.clock.now() + 3_600_000).toISOString());
  expect(Object.keys(body)).toEqual(["token", "expires_at"]);
  expect((await post(service, "/tokens", { ttl_seconds: 86_400 })).status).toBe(201);
  expect((await post(service, "/tokens", { ttl_seconds: 86_401 })).status).toBe(400);
  expect((await get(service, "/jobs", { credential: body.token })).status).toBe(200);
  await service.clock.advance(3_600_000);
  expect((await get(service, "/jobs", { credential: body.token })).status).toBe(401);
});

test("options that cannot be used are refused with the place and what is possible", async () => {
  const scopes = ["jobs:read", "jobs:fly"] as never;
  const tries = [
    { keys: [{ keyId: "k", secret: "s", scopes }] },
    { faults: 5 as never },
    { faults: [{ kind: "x" }] as never },
  ];
  const told = await Promise.all(
    tries.map((options) => startLocalService(options).catch((error: Error) => error.message)),
  );
  expect(told[0]).toMatch(/^Key k has the unknown scope jobs:fly\. Use: .*jobs:read/);
  expect(told[1]).toMatch(/^The faults are invalid: /);
  expect(told[2]).toMatch(/^The faults are invalid at rules\.0\.kind: /);
});
