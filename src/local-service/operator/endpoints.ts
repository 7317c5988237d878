import { LocalServiceError } from "../errors.ts";
import { faultsBody } from "../faults/rules.ts";
import { readBody } from "../http/body.ts";
import { type Answer, type Call, created, type Endpoint, ok } from "../http/call.ts";
import { parseBody } from "../http/parse-body.ts";
import { invalid, notFound, problem } from "../http/refusal.ts";
import { micros, usd } from "../money/micros.ts";
import { balanceOf } from "../money/wallet.ts";
import { FIRST_OWNER, FIRST_WORKSPACE } from "../options.ts";
import type { ServiceContext } from "../service-context.ts";
import { ensureKey, freshKey } from "./accounts.ts";
import { clockBody, keyBody, memberBody, walletBody } from "./bodies.ts";
import { assertJson, assertOperator } from "./loopback.ts";
import { readStats, walletStats } from "./stats.ts";

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
<p>The wallet of <b>${escaped(workspaceId)}</b> holds <b>$${usd(balanceMicros).toFixed(2)}</b> of play money.</p>
<form method="post"><label>Dollars <input name="dollars" type="number" min="0.01" step="0.01" value="25" required></label>
<button>Add</button></form></body></html>`;
  return { is: "text", status: 200, body, headers: HEADERS };
}

/** The page at `billing.funding_url`, for a person with a browser. */
export function fundingPage({ store }: ServiceContext, fund: (dollars: number, workspaceId: string) => Promise<void>) {
  const workspaceOf = (call: Call) => {
    const id = call.query("workspace_id") ?? FIRST_WORKSPACE;
    if (id.length <= MAX_ID_LENGTH) return id;
    throw invalid([problem("workspace_id", `has more than ${MAX_ID_LENGTH} characters`, "maxLength")]);
  };
  const show = (workspaceId: string) => page(workspaceId, balanceOf(store.workspaces.get(workspaceId)));

  return {
    show: (call: Call) => show(workspaceOf(call)),
    async add(call: Call): Promise<Answer> {
      const form = new URLSearchParams((await readBody(call.incoming, { maxBytes: MAX_FORM_BYTES })).toString("utf8"));
      const dollars = Number(form.get("dollars") ?? Number.NaN);
      if (!(dollars > 0 && dollars <= MOST_DOLLARS)) throw invalid([problem("dollars", "must be above 0", "minimum")]);
      await fund(dollars, workspaceOf(call));
      return show(workspaceOf(call));
    },
  };
}

/** Adds dollars to a workspace, created when missing. */
export function funder({ store }: Pick<ServiceContext, "store">) {
  return async (dollars: number, workspaceId = FIRST_WORKSPACE): Promise<void> => {
    if (!(dollars >= 0 && Number.isFinite(dollars))) {
      throw new LocalServiceError("OPTION_INVALID", `${dollars} dollars cannot be added; give 0 or more.`);
    }
    await store.write(() => {
      store.workspaces.create(workspaceId);
      store.workspaces.fund(workspaceId, micros(dollars));
    });
  };
}

/** The operator endpoints, below `/_local`. */
export function operatorEndpoints(service: ServiceContext): readonly Endpoint[] {
  const { store, clock } = service;
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
    return ok(wallets());
  }

  async function makeKey(call: Call): Promise<Answer> {
    const body = parseBody(keyBody, await call.json());
    const place = { workspaceId: body.workspace_id ?? FIRST_WORKSPACE, ownerId: body.owner_id ?? FIRST_OWNER };
    const newKey = freshKey({ ...place, scopes: body.scopes ?? null });
    const key = { ...newKey, keyId: body.key_id ?? newKey.keyId, secret: body.secret ?? newKey.secret };
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
      throw notFound("There is no such owner in this workspace.");
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

  const rows: readonly Omit<Endpoint, "access">[] = [
    {
      method: "GET",
      path: "/stats",
      summary: "Counts of jobs, money and requests",
      handle: () => ok(readStats(service)),
    },
    { method: "GET", path: "/wallet", summary: "All wallets", handle: () => ok(wallets()) },
    { method: "POST", path: "/wallet", summary: "Add funds; decline the card", handle: changeWallet },
    { method: "GET", path: "/fund", summary: "A page to add funds on", handle: page.show },
    { method: "POST", path: "/fund", summary: "Add funds from that page", handle: page.add },
    { method: "POST", path: "/keys", summary: "Make a key for a workspace and owner", handle: makeKey },
    { method: "POST", path: "/members", summary: "Let an owner leave or come back", handle: changeMember },
    {
      method: "GET",
      path: "/faults",
      summary: "The faults that are set, with counts",
      handle: () => ok(service.faultEngine.view()),
    },
    { method: "POST", path: "/faults", summary: "Replace all faults", handle: setFaults },
    { method: "GET", path: "/clock", summary: "The service's clock", handle: () => ok(clockView()) },
    { method: "POST", path: "/clock", summary: "Set or advance the clock", handle: changeClock },
  ];
  return rows.map((row) => ({
    ...row,
    access: "public",
    handle(call) {
      assertOperator(call.incoming);
      // The funding page's form is the only client that does not send JSON.
      if (row.method !== "GET" && row.path !== "/fund") assertJson(call.incoming);
      return row.handle(call);
    },
  }));
}
