import { expect, test } from "vitest";
import { SCOPES, type Scope } from "../../src/local-service/access/authenticate.ts";
import type { LocalService } from "../../src/local-service/index.ts";
import { idOf, rotated, tokenOf } from "./support/credentials.ts";
import { ask, type Body, get, key, post, start, startHeld } from "./support/service.ts";

/*
 * No sequence of key calls gives a caller more than it holds: every pair of caller and target, with all that matters
 * about them, against the rule written down here.
 */
type Scopes = readonly Scope[] | null;

const CALLERS: readonly Scopes[] = [null, ["keys:manage"], ["keys:manage", "jobs:read"]];
const TARGETS: readonly Scopes[] = [null, ["keys:manage"], ["jobs:read"], ["jobs:read", "jobs:write"], []];

const covers = (own: Scopes, other: Scopes) => own === null || other?.every((scope) => own.includes(scope)) === true;

interface Target {
  readonly scopes: Scopes;
  readonly owner: "same" | "other";
  readonly kind: "personal" | "service";
  readonly workspace: "same" | "other";
}

const WHOSE = ["same", "other"] as const;
const targets: readonly Target[] = TARGETS.flatMap((scopes) =>
  WHOSE.flatMap((owner) =>
    (["personal", "service"] as const).flatMap((kind) =>
      WHOSE.map((workspace) => ({ scopes, owner, kind, workspace })),
    ),
  ),
);

/** A key as the target says, made by an unrestricted key of its owner. */
async function plant(service: LocalService, target: Target): Promise<string> {
  const place = {
    owner_id: target.owner === "same" ? "caller" : "somebody",
    workspace_id: target.workspace === "same" ? "workspace_local" : "elsewhere",
  };
  const body = { kind: target.kind, scopes: target.scopes };
  const made = await post(service, "/keys", body, await key(service, place));
  return made.body.credential;
}

/** The scopes that a credential turns out to have: what it is let into. */
async function reach(service: LocalService, credential: string): Promise<readonly Scope[]> {
  const probes: readonly (readonly [Scope, string, string])[] = [
    ["jobs:read", "GET", "/jobs"],
    ["jobs:write", "DELETE", "/jobs/job_none"],
    ["models:read", "GET", "/models"],
    ["files:write", "POST", "/files"],
    ["webhooks:manage", "GET", "/webhooks/deliveries"],
    ["log_drains:manage", "GET", "/log-drains"],
    ["usage:read", "GET", "/balance"],
    ["keys:manage", "GET", "/keys"],
    ["chat:write", "POST", "/chat/completions"],
  ];
  const statuses = await Promise.all(
    probes.map(async ([scope, method, path]) => {
      const { status } = await ask(service, method, path, { credential });
      return status === 401 || status === 403 ? [] : [scope];
    }),
  );
  return statuses.flat();
}

test("rotate gives out only keys of the caller's own owner and workspace whose scopes the caller holds", async () => {
  const service = await start();
  for (const own of CALLERS) {
    const caller = await key(service, { owner_id: "caller", scopes: own });
    for (const target of targets) {
      const planted = await plant(service, target);
      const reply = await ask(service, "POST", `/keys/${idOf(planted)}/rotate`, { credential: caller });
      const mayRotate = target.owner === "same" && covers(own, target.scopes);
      const status = target.workspace === "other" ? 404 : mayRotate ? 200 : 403;
      expect([own, target, reply.status]).toEqual([own, target, status]);
      if (status !== 200) expect(JSON.stringify(reply.body)).not.toContain(`${idOf(planted)}:`);
      expect((await get(service, "/keys", { credential: planted })).status).not.toBe(401);
    }
  }
});

test("revoke takes the caller's own keys and the workspace's service keys, when the caller holds their scopes", async () => {
  const service = await start();
  for (const own of CALLERS) {
    const caller = await key(service, { owner_id: "caller", scopes: own });
    for (const target of targets) {
      const planted = await plant(service, target);
      const reply = await ask(service, "DELETE", `/keys/${idOf(planted)}`, { credential: caller });
      const mayRevoke = (target.owner === "same" || target.kind === "service") && covers(own, target.scopes);
      const status = target.workspace === "other" ? 404 : mayRevoke ? 204 : 403;
      expect([own, target, reply.status]).toEqual([own, target, status]);
      const after = (await get(service, "/keys", { credential: planted })).status;
      expect([own, target, after === 401]).toEqual([own, target, status === 204]);
    }
  }
});

test("create hands on no scope, workspace or lifetime that the caller lacks [reach of keys] [WA11]", async () => {
  const service = await startHeld();
  const at = (ms: number) => new Date(service.clock.now() + ms).toISOString();
  await key(service, { owner_id: "caller", workspace_id: "second" });
  for (const own of CALLERS) {
    const credential = await key(service, { owner_id: "caller", scopes: own });
    for (const asked of [...TARGETS.filter((scopes) => scopes !== null), undefined]) {
      const made = await post(service, "/keys", { scopes: asked }, credential);
      const mayMake = asked === undefined || covers(own, asked);
      expect([own, asked, made.status]).toEqual([own, asked, mayMake ? 201 : 403]);
      const given = asked ?? (own === null ? SCOPES : own.toSorted(byTable));
      if (mayMake) expect(await reach(service, made.body.credential)).toEqual(given);
    }
    const elsewhere = await post(service, "/keys", { workspace_id: "second" }, credential);
    expect(elsewhere.status).toBe(403);
  }
  const short = (await post(service, "/keys", { expires_at: at(60_000) })).body.credential;
  const child = await post(service, "/keys", {}, short);
  expect(child.body.expires_at).toBe(at(60_000));
  const longer = await post(service, "/keys", { expires_at: at(60_001) }, short);
  expect(longer.status).toBe(403);
  const shorter = await post(service, "/keys", { expires_at: at(59_999) }, short);
  expect(shorter.body.expires_at).toBe(at(59_999));
});

const byTable = (a: Scope, b: Scope) => SCOPES.indexOf(a) - SCOPES.indexOf(b);

test("a token ends with the key or the secret that it was minted with, and says so when it is minted", async () => {
  const service = await startHeld();
  const end = (ms: number) => new Date(service.clock.now() + ms).toISOString();
  const mint = async (credential: string): Promise<Body> =>
    (await post(service, "/tokens", { ttl_seconds: 3600 }, credential)).body;
  const isLive = async (credential: string) => (await get(service, "/jobs", { credential })).status === 200;
  const short = (await post(service, "/keys", { expires_at: end(60_000) })).body.credential;
  expect((await mint(short)).expires_at).toBe(end(60_000));
  const owned = await key(service, {});
  const earlier = await tokenOf(service, owned, { ttl_seconds: 3600 });
  await post(service, `/keys/${idOf(owned)}/rotate`, { grace_period_seconds: 30 });
  const inGrace = await mint(owned);
  expect(inGrace.expires_at).toBe(end(30_000));
  const { current } = await rotated(service, {}, 30);
  const fresh = await mint(current);
  expect(fresh.expires_at).toBe(end(3_600_000));
  await service.clock.advance(30_000);
  const live = await Promise.all([earlier, inGrace.token, fresh.token].map(isLive));
  expect(live).toEqual([false, false, true]);
});
