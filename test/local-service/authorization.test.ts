import { expect, test } from "vitest";
import { SCOPES, type Scope } from "../../src/local-service/access/authenticate.ts";
import type { LocalService } from "../../src/local-service/index.ts";
import { deadCredentials, plantThings, rotated, tokenOf } from "./support/credentials.ts";
import { ask, type Body, get, key, post, read, start } from "./support/service.ts";

/*
 * Who may call what. The endpoints come from the service's own document, which is made from its table; what each one
 * needs is written down here once more, apart from the code, and an endpoint that no rule speaks of fails the test.
 */
interface Route {
  readonly method: string;
  readonly path: string;
  readonly name: string;
}

const RULES: readonly (readonly [RegExp, Scope | "key" | "public"])[] = [
  [/^GET \/(openapi\.json|webhooks\/public-key)$/, "public"],
  [/^GET \/jobs(\/|$)|^GET \/models\/\{model\}\/jobs$/, "jobs:read"],
  [/^POST \/models\/\{model\}$|^DELETE \/jobs\/\{job_id\}$/, "jobs:write"],
  [
    /^POST \/models\/\{model\}\/estimate$|^GET \/models(\/\{model\}(\/openapi\.json|\/voices(\/search)?)?)?$/,
    "models:read",
  ],
  [/^POST \/files$/, "files:write"],
  [/^GET \/(balance|usage(\/llm)?|transactions)$/, "usage:read"],
  [/^\w+ \/webhooks\/(default|deliveries)/, "webhooks:manage"],
  [/^\w+ \/log-drains/, "log_drains:manage"],
  [/^\w+ \/keys/, "keys:manage"],
  [/^POST \/tokens$/, "key"],
  [/^POST \/(chat\/completions|responses)$/, "chat:write"],
];

function needOf({ name }: Route): Scope | "key" | "public" {
  const rule = RULES.find(([pattern]) => pattern.test(name));
  if (!rule) throw new Error(`${name} is new: say in this file who may call it`);
  return rule[1];
}

/** Every endpoint of the API; the typed operations of single models are the same endpoint again. */
async function routesOf(service: LocalService): Promise<readonly Route[]> {
  const { paths } = await read(service, "/openapi.json");
  const models = new Set((await read(service, "/models")).data.map((model: Body) => `/models/${model.id}`));
  return Object.entries<object>(paths)
    .filter(([path]) => !models.has(path))
    .flatMap(([path, item]) =>
      Object.keys(item).map((name) => {
        const method = name.toUpperCase();
        return { method, path, name: `${method} ${path}` };
      }),
    );
}

type Things = Readonly<Record<string, string>>;

const filled = (path: string, things: Things) => path.replaceAll(/\{(\w+)\}/g, (_, name) => things[name] ?? "unknown");

function call(service: LocalService, route: Route, things: Things, credential: string | null) {
  const body = route.method === "GET" || route.method === "DELETE" ? {} : { body: {} };
  return ask(service, route.method, filled(route.path, things), { credential, ...body });
}

/** What must look the same before and after a call that was refused. */
async function stateOf(service: LocalService): Promise<unknown> {
  const paths = ["/keys", "/jobs", "/balance", "/webhooks/default", "/webhooks/deliveries", "/log-drains"];
  const bodies = await Promise.all(paths.map((path) => get(service, path)));
  const timeless = (text: string) => text.replaceAll(/"(last_used_at|trace_id)":("[^"]*"|null)/g, "");
  return bodies.map(({ body }) => timeless(JSON.stringify(body)));
}

const isDenied = ({ status }: { readonly status: number }) => status === 401 || status === 403;

test("a credential that is unknown, revoked, expired, rotated out or whose owner left opens no endpoint [A12 A13 A14 E1 E29 P1 WA10 WC4 WC9]", async () => {
  const service = await start();
  const things = await plantThings(service);
  const { dead, barred } = await deadCredentials(service);
  const before = await stateOf(service);
  for (const route of await routesOf(service)) {
    const isOpen = needOf(route) === "public";
    for (const [kind, credential] of [...Object.entries(dead), ...Object.entries(barred)]) {
      const { status, body } = await call(service, route, things, credential);
      const refusal = kind in dead ? [401, "UNAUTHORIZED", false] : [403, "PERMISSION_DENIED", false];
      const answered = [route.name, kind, status, body.error?.code, body.error?.retryable];
      expect(answered).toEqual([route.name, kind, ...(isOpen ? [200, undefined, undefined] : refusal)]);
    }
  }
  expect(await stateOf(service)).toEqual(before);
});

test("nothing of a workspace is seen or changed from another one, and no job of an owner by another owner [E33 E34 WC15 WC16]", async () => {
  const service = await start();
  const things = await plantThings(service);
  const { elsewhere } = await deadCredentials(service);
  const before = await stateOf(service);
  const own = Object.values(things).filter((id) => id !== things["model"]);
  for (const route of await routesOf(service)) {
    if (!/\{(job_id|key_id|drain_id)\}/.test(route.path)) continue;
    const foreign = await call(service, route, things, elsewhere.workspace);
    expect([route.name, foreign.status, foreign.body.error.code]).toEqual([route.name, 404, "NOT_FOUND"]);
    if (!route.path.startsWith("/jobs/")) continue;
    expect([route.name, (await call(service, route, things, elsewhere.owner)).status]).toEqual([route.name, 404]);
  }
  for (const path of ["/jobs", "/models/image-1/jobs", "/keys", "/log-drains", "/webhooks/deliveries"]) {
    const { body } = await get(service, path, { credential: elsewhere.workspace });
    expect(own.filter((id) => JSON.stringify(body).includes(id))).toEqual([]);
  }
  expect(await stateOf(service)).toEqual(before);
});

test("every endpoint asks for its scope, and for no other [A9 A10 A11 E31 P38 WC11 WC12 WC13 WC14]", async () => {
  const service = await start();
  const things = await plantThings(service);
  const keys = new Map<Scope, string>();
  const lacking = new Map<Scope, string>();
  for (const scope of SCOPES) {
    keys.set(scope, await key(service, { scopes: [scope] }));
    lacking.set(scope, await key(service, { scopes: SCOPES.filter((other) => other !== scope) }));
  }
  for (const route of await routesOf(service)) {
    const need = needOf(route);
    for (const scope of SCOPES) {
      const reply = await call(service, route, things, keys.get(scope)!);
      const mayPass = need === "public" || need === "key" || need === scope;
      // A key with one scope reaches the endpoint; what it may do to the thing named there is another test's question.
      const isRefusedFor = reply.body?.error?.message === `The credential lacks the required scope: ${need}.`;
      expect([route.name, scope, isRefusedFor && reply.status === 403]).toEqual([route.name, scope, !mayPass]);
    }
    if (need === "public" || need === "key") continue;
    const refused = await call(service, route, things, lacking.get(need)!);
    expect([route.name, refused.status, refused.body.error.message.includes(need)]).toEqual([route.name, 403, true]);
  }
});

test("a token does what its scopes say but never manages keys, mints tokens or exceeds its key [P37 WA12 WC14]", async () => {
  const service = await start();
  const things = await plantThings(service);
  const whole = await tokenOf(service, service.apiKey);
  const asked = await post(service, "/tokens", { scopes: ["keys:manage"] });
  expect([asked.status, asked.body.error.message]).toEqual([403, expect.stringContaining("keys:manage")]);
  const narrow = await key(service, { scopes: ["jobs:read"] });
  const beyond = await post(service, "/tokens", { scopes: ["jobs:write"] }, narrow);
  expect(beyond.status).toBe(403);
  const before = await stateOf(service);
  for (const route of await routesOf(service)) {
    const need = needOf(route);
    if (need !== "keys:manage" && need !== "key") continue;
    expect([route.name, (await call(service, route, things, whole)).status]).toEqual([route.name, 403]);
  }
  expect(await stateOf(service)).toEqual(before);
  for (const scope of SCOPES.filter((each) => each !== "keys:manage")) {
    const token = await tokenOf(service, service.apiKey, { scopes: [scope] });
    for (const route of await routesOf(service)) {
      const need = needOf(route);
      if (need === "public") continue;
      const reply = await call(service, route, things, token);
      expect([route.name, scope, isDenied(reply)]).toEqual([route.name, scope, need !== scope]);
    }
  }
});

test("a secret in its grace period works as before but changes no keys", async () => {
  const service = await start();
  const things = await plantThings(service);
  const { old, current } = await rotated(service, {}, 3600);
  const changesKeys = (route: Route) => needOf(route) === "keys:manage" && route.method !== "GET";
  const routes = await routesOf(service);
  const replaced = expect.stringContaining("This secret has been replaced");
  for (const route of routes) {
    const reply = await call(service, route, things, old);
    if (!changesKeys(route)) expect([route.name, isDenied(reply)]).toEqual([route.name, false]);
    else expect([route.name, reply.status, reply.body.error.message]).toEqual([route.name, 403, replaced]);
  }
  for (const route of routes.filter(changesKeys)) {
    expect([route.name, isDenied(await call(service, route, things, current))]).toEqual([route.name, false]);
  }
});
