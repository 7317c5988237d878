import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { listen } from "../../support/listen.ts";
import { openDashboard } from "./support/browse.ts";
import { plantRun } from "./support/planted.ts";

/*
 * A page of another origin in the browser that has the dashboard open: what it tries must neither be readable nor have
 * an effect. Cookies know no ports, so a page on another port of 127.0.0.1 sends the dashboard's along.
 */
const script = readFileSync(join(import.meta.dirname, "support", "hostile-page.js"), "utf8");
const { browser, service, served } = await openDashboard({ balance: 25 });
await plantRun(served.journal, { id: "secret-run", end: "succeeded", steps: [{ path: "one" }] });
const html = `<!doctype html><body></body><script>${script}</script>`;
const hostile = await listen(
  createServer((_, answer) => answer.writeHead(200, { "Content-Type": "text/html" }).end(html)),
);
afterAll(() => hostile.close());

interface Target {
  readonly method: string;
  readonly url: string;
  readonly body: string;
}

interface Tried {
  readonly how: string;
  readonly url: string;
  readonly read: string;
}

/** Every endpoint of the service, its operator's side and the dashboard that can be named. */
async function targetsOf(): Promise<readonly Target[]> {
  const rules = [{ kind: "delay", delay_ms: 1 }];
  const wanted = { add: 5, rules, mode: "manual", left: true, name: "stolen", input: { prompt: "x" } };
  const body = JSON.stringify(wanted);
  const found: Target[] = [];
  const origin = new URL(service.baseUrl).origin;
  for (const prefix of ["/v3", "/_local"]) {
    const document = (await (await fetch(`${origin}${prefix}/openapi.json`)).json()) as {
      readonly paths: Readonly<Record<string, object>>;
    };
    for (const [path, item] of Object.entries(document.paths)) {
      for (const method of Object.keys(item)) {
        const url = `${origin}${prefix}${path.replaceAll(/\{\w+\}/g, "image-1")}`;
        if (method === "get" || method === "post") found.push({ method: method.toUpperCase(), url, body });
      }
    }
  }
  const dashboard = served.dashboard.origin;
  for (const path of ["/", "/api/runs", "/api/runs/secret-run", "/api/live", "/api/gauges", "/api/pipelines"])
    found.push({ method: "GET", url: dashboard + path, body: "" });
  for (const path of ["/api/runs/secret-run/stop", "/api/runs"])
    found.push({ method: "POST", url: dashboard + path, body: '{"dollars":5,"rules":[{"kind":"drop"}]}' });
  return found;
}

async function stateOf(): Promise<unknown> {
  const origin = new URL(service.baseUrl).origin;
  const read = async (path: string) => (await fetch(origin + path)).json();
  const keys = await fetch(`${service.baseUrl}/keys`, { headers: { Authorization: `Bearer ${service.apiKey}` } });
  const { mode } = (await read("/_local/clock")) as { readonly mode: string };
  const listed = (await keys.json()) as { readonly data: readonly { readonly key_id: string }[] };
  const { jobs_created, wallets } = service.stats();
  const inbox = await served.journal.inbox("secret-run");
  const faults = await read("/_local/faults");
  return { keys: listed.data.map(({ key_id }) => key_id), mode, faults, jobs_created, wallets, inbox };
}

/** What the documents of the API say to everyone, and nothing else, may be read. */
const isPublic = (url: string) => /\/v3\/(openapi\.json|webhooks\/public-key)$/.test(url);

async function assaultFrom(host: string, targets: readonly Target[]): Promise<readonly Tried[]> {
  const context = await browser.newContext();
  try {
    const victim = await context.newPage();
    await victim.goto(served.dashboard.url);
    await victim.getByRole("heading", { level: 1 }).waitFor();
    const page = await context.newPage();
    await page.goto(`http://${host}:${hostile.port}/`);
    return await page.evaluate(`attack(${JSON.stringify(targets)})`);
  } finally {
    await context.close();
  }
}

test.each(["127.0.0.1", "localhost"])(
  "a page on another port of %s reads and changes nothing of dashboard, service and operator's side",
  async (host) => {
    const targets = await targetsOf();
    expect(targets.length).toBeGreaterThan(40);
    const before = await stateOf();
    const tried = await assaultFrom(host, targets);
    expect(tried.length).toBeGreaterThan(targets.length * 8);
    const leaks = tried.filter(({ url, read }) => {
      // An error of the API that says "a credential is required" is no secret; CORS lets pages read the API's answers.
      const isRefusal = url.includes("/v3/") && read.includes('"code":"UNAUTHORIZED"');
      return read !== "" && !isPublic(url) && !isRefusal;
    });
    expect(leaks).toEqual([]);
    expect(await stateOf()).toEqual(before);
  },
);
