import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { hashSecret } from "../access/authenticate.ts";
import { LocalServiceError } from "../errors.ts";
import { faultsBody } from "../faults/rules.ts";
import { parseBody, readBody } from "../http/body.ts";
import { type Answer, type Call, created, type Endpoint, endpoint, ok } from "../http/call.ts";
import { invalid, notFound, problem, refuse } from "../http/refusal.ts";
import { balanceOf, micros, usd } from "../money.ts";
import { FIRST_OWNER, FIRST_WORKSPACE, type NormalKey, type NormalOptions } from "../options.ts";
import { RenderError } from "../render/contract.ts";
import { clockBody, keyBody, memberBody, renderBody, walletBody } from "../request-bodies.ts";
import type { ServiceContext } from "../service-context.ts";
import { keyId as newKeyId, secret as newSecret } from "../store/rows.ts";
import type { Store } from "../store/store.ts";
import { readStats, walletStats } from "./stats.ts";

const CREDENTIAL_FILE = "credential";

const FIRST = { workspaceId: FIRST_WORKSPACE, ownerId: FIRST_OWNER, scopes: null };

function storedKey(dataDir: string): NormalKey {
  const file = join(dataDir, CREDENTIAL_FILE);
  if (existsSync(file)) {
    // Restores the file's permissions, which copying may have changed.
    chmodSync(file, 0o600);
    const [keyId = "", secret = ""] = readFileSync(file, "utf8").trim().split(":");
    if (keyId && secret) return { keyId, secret, ...FIRST };
  }
  const key = { keyId: newKeyId(), secret: newSecret(), ...FIRST };
  writeFileSync(file, `${key.keyId}:${key.secret}\n`, { mode: 0o600 });
  return key;
}

export async function openAccounts(store: Store, options: NormalOptions, now: number): Promise<string> {
  const keys = options.keys.length > 0 ? options.keys : [storedKey(options.dataDir)];
  await store.write(() => {
    if (store.workspaces.create(FIRST_WORKSPACE)) {
      store.workspaces.fund(FIRST_WORKSPACE, options.balanceMicros, "grant", now);
    }
    for (const key of keys) ensureKey(store, key, now);
  });
  const [first] = keys;
  return `${first!.keyId}:${first!.secret}`;
}

/** Creates the key or, if it exists, replaces its secret. Call this inside a transaction. */
function ensureKey(store: Store, { keyId, workspaceId, ownerId, ...key }: NormalKey, now: number): void {
  const secretHash = hashSecret(key.secret);
  store.workspaces.create(workspaceId);
  store.workspaces.join(workspaceId, ownerId);
  if (store.keys.get(keyId)) {
    store.keys.replaceSecret(keyId, secretHash);
    return;
  }
  const scopes = key.scopes === null ? null : JSON.stringify(key.scopes);
  const fixed = { kind: "personal", name: null, createdAt: now, expiresAt: null } as const;
  store.keys.insert({ keyId, workspaceId, ownerId, secretHash, scopes, ...fixed });
}

const LOOPBACK_ADDRESS = /^(::1|127\.\d+\.\d+\.\d+|::ffff:127\.\d+\.\d+\.\d+)$/;
const LOOPBACK_NAME = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i;

function isOwnHost(incoming: IncomingMessage): boolean {
  const [, name = "", port = "80"] = /^(.*?)(?::(\d+))?$/.exec(incoming.headers.host ?? "") ?? [];
  return LOOPBACK_NAME.test(name) && Number(port) === incoming.socket.localPort;
}

/**
 * Returns whether to accept a request from a browser. Pages of other websites may link to the service, but not call it.
 */
function isOwnSite({ method, headers }: IncomingMessage): boolean {
  if (headers.origin !== undefined && headers.origin !== `http://${headers.host}`) return false;
  const site = headers["sec-fetch-site"];
  const isReading = method === "GET" || method === "HEAD";
  if (site === undefined || site === "same-origin") return true;
  return isReading && (site === "none" || headers["sec-fetch-mode"] === "navigate");
}

/**
 * Refuses requests from other machines and from web pages of other origins. Also prevents DNS rebinding.
 * @throws Refusal 403
 */
function assertOperator(incoming: IncomingMessage): void {
  const isLocal = LOOPBACK_ADDRESS.test(incoming.socket.remoteAddress ?? "") && isOwnHost(incoming);
  if (isLocal && isOwnSite(incoming)) return;
  throw refuse("PERMISSION_DENIED", "The operator API answers only requests from this machine and from its own page.");
}

/**
 * Requires JSON, because browsers send simple content types to any address without a preflight request.
 * @throws Refusal 400
 */
function assertJson({ headers }: IncomingMessage): void {
  if (/^application\/json *(;|$)/i.test(headers["content-type"] ?? "")) return;
  throw invalid([problem("content-type", "must be application/json", "content_type")]);
}

const MOST_DOLLARS = 1_000_000;
const MAX_ID_LENGTH = 100;
const MAX_FORM_BYTES = 10_000;

const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
  "X-Frame-Options": "DENY",
};

const escaped = (text: string) => text.replaceAll(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);

function page(workspaceId: string, balanceMicros: number): Answer {
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Add funds</title>
<body style="font: 16px/1.5 system-ui; max-width: 30em; margin: 4em auto">
<h1>Add funds</h1>
<p>The wallet of <b>${escaped(workspaceId)}</b> contains <b>$${usd(balanceMicros).toFixed(2)}</b> of play money.</p>
<form method="post"><label>Dollars <input name="dollars" type="number" min="0.01" step="0.01" value="25" required></label>
<button>Add</button></form></body></html>`;
  return { is: "text", status: 200, body, headers: HEADERS };
}

function fundingPage({ store }: ServiceContext, fund: (dollars: number, workspaceId: string) => Promise<void>) {
  const workspaceOf = (call: Call) => {
    const id = call.query("workspace_id") ?? FIRST_WORKSPACE;
    if (id.length <= MAX_ID_LENGTH) return id;
    throw invalid([problem("workspace_id", `has more than ${MAX_ID_LENGTH} characters`, "maxLength")]);
  };
  const show = (workspaceId: string) => page(workspaceId, balanceOf(store.workspaces.get(workspaceId)));

  return {
    show: (call: Call) => show(workspaceOf(call)),
    async add(call: Call): Promise<Answer> {
      const form = new URLSearchParams((await readBody(call.incoming, MAX_FORM_BYTES)).toString("utf8"));
      const dollars = Number(form.get("dollars") ?? Number.NaN);
      if (!(dollars > 0 && dollars <= MOST_DOLLARS)) throw invalid([problem("dollars", "must be above 0", "minimum")]);
      await fund(dollars, workspaceOf(call));
      return show(workspaceOf(call));
    },
  };
}

export function funder({ store, clock }: Pick<ServiceContext, "store" | "clock">) {
  return async (dollars: number, workspaceId = FIRST_WORKSPACE): Promise<void> => {
    if (!(dollars >= 0 && Number.isFinite(dollars))) {
      throw new LocalServiceError("OPTION_INVALID", `The dollar amount to add must be 0 or more; got ${dollars}.`);
    }
    await store.write(() => {
      store.workspaces.create(workspaceId);
      store.workspaces.fund(workspaceId, micros(dollars), "purchase", clock.now());
    });
  };
}

export function operatorEndpoints(service: ServiceContext): readonly Endpoint[] {
  const { store, clock, webhooks } = service;
  const fund = funder(service);

  const page = fundingPage(service, fund);
  const wallets = () => ({ data: walletStats(service) });
  const clockView = () => ({ mode: clock.mode, factor: clock.factor, now: new Date(clock.now()).toISOString() });

  async function changeWallet(call: Call): Promise<Answer> {
    const body = parseBody(walletBody, await call.json());
    const workspaceId = body.workspace_id ?? FIRST_WORKSPACE;
    await fund(body.add ?? 0, workspaceId);
    const declined = body.card_declined;
    if (declined !== undefined) await store.write(() => store.workspaces.setCardDeclined(workspaceId, declined));
    const { top_off: dollars = 0 } = body;
    const isDeclined = store.workspaces.get(workspaceId)?.cardDeclined === 1;
    if (dollars > 0 && isDeclined) await webhooks.topOffFailed(workspaceId, dollars);
    else await fund(dollars, workspaceId);
    return ok(wallets());
  }

  async function makeKey(call: Call): Promise<Answer> {
    const body = parseBody(keyBody, await call.json());
    const key: NormalKey = {
      keyId: body.key_id ?? newKeyId(),
      secret: body.secret ?? newSecret(),
      workspaceId: body.workspace_id ?? FIRST_WORKSPACE,
      ownerId: body.owner_id ?? FIRST_OWNER,
      scopes: body.scopes ?? null,
    };
    await store.write(() => ensureKey(store, key, clock.now()));
    const { keyId: key_id, workspaceId: workspace_id, ownerId: owner_id, scopes } = key;
    return created({ key_id, credential: `${key_id}:${key.secret}`, workspace_id, owner_id, scopes });
  }

  async function changeMember(call: Call): Promise<Answer> {
    const body = parseBody(memberBody, await call.json());
    const workspaceId = body.workspace_id ?? FIRST_WORKSPACE;
    const ownerId = body.owner_id ?? FIRST_OWNER;
    const leftAt = body.left ? clock.now() : null;
    if (!(await store.write(() => store.workspaces.setLeft(workspaceId, ownerId, leftAt)))) {
      throw notFound("This workspace has no such owner.");
    }
    return ok({ workspace_id: workspaceId, owner_id: ownerId, left: body.left });
  }

  async function changeClock(call: Call): Promise<Answer> {
    const { mode, factor, advance_ms } = parseBody(clockBody, await call.json());
    if (mode === "real") clock.real();
    if (mode === "manual") clock.manual();
    if (mode === "scaled" || (mode === undefined && factor !== undefined)) clock.scaled(factor ?? 1);
    if (advance_ms !== undefined) await clock.advance(advance_ms);
    return ok(clockView());
  }

  async function setFaults(call: Call): Promise<Answer> {
    const { rules, seed } = parseBody(faultsBody, await call.json());
    service.faultEngine.set(rules, seed);
    return ok(service.faultEngine.view());
  }

  const row = (method: Endpoint["method"], path: string, summary: string, handle: Endpoint["handle"]) =>
    endpoint(method, path, "public", summary, handle);
  return [
    row("GET", "/stats", "Totals for jobs, money and requests", () => ok(readStats(service))),
    row("GET", "/wallet", "All wallets", () => ok(wallets())),
    row("POST", "/wallet", "Add funds, or set whether the top-up card is declined", changeWallet),
    row("GET", "/fund", "A page for adding funds", page.show),
    row("POST", "/fund", "Add funds with the page's form", page.add),
    row("POST", "/keys", "Create a key for a workspace and owner", makeKey),
    row("POST", "/members", "Remove an owner from a workspace, or add them back", changeMember),
    row("GET", "/faults", "The configured faults, and how often each has matched", () =>
      ok(service.faultEngine.view()),
    ),
    row("POST", "/faults", "Replace all faults", setFaults),
    row("POST", "/render", "Render an image, video or speech without a job, for rehearsals", renderEndpoint(service)),
    row("GET", "/clock", "The service's clock", () => ok(clockView())),
    row("POST", "/clock", "Set or advance the clock", changeClock),
  ];
}

export function forOperator(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return endpoints.map((endpoint) => ({
    ...endpoint,
    handle(call) {
      assertOperator(call.incoming);
      // The form on the funding page does not send JSON.
      if (endpoint.method !== "GET" && endpoint.path !== "/fund") assertJson(call.incoming);
      return endpoint.handle(call);
    },
  }));
}

function renderEndpoint({ renderer, dataDir }: Pick<ServiceContext, "renderer" | "dataDir">) {
  return async (call: Call): Promise<Answer> => {
    const request = parseBody(renderBody, await call.json());
    const outPath = dataDir.incoming(`render-${randomUUID()}`);
    try {
      const { contentType } = await renderer.render({ ...request, media: {}, voice: null, outPath });
      const data = (await readFile(outPath)).toString("base64");
      return ok({ content_type: contentType, data });
    } catch (error) {
      if (error instanceof RenderError && error.code === "RENDER_INPUT") {
        throw invalid([problem("input", error.message, "invalid")]);
      }
      throw error;
    } finally {
      await rm(outPath, { force: true });
    }
  };
}
