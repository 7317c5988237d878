/** The app of docs/in-your-server.md, from the packed packages and the page's own blocks, in Chromium. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { startBrowser } from "../demo/support/browser.ts";
import { SERVER_UP_MS } from "../support/server-up.ts";
import { type TcpProxy, tcpProxy } from "../support/tcp-proxy.ts";
import { root } from "./support/packed.ts";
import { type Installed, installed, makeProject, writeInto } from "./support/project.ts";
import { filesOf } from "./support/type-page.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: SERVER_UP_MS });

const PAGE = "docs/in-your-server.md";
/** The page, without its line breaks. */
const words = readFileSync(join(root, PAGE), "utf8").replace(/\s+/g, " ");
const server = filesOf(PAGE)["server.ts"]!;

/** How the page mounts the handler elsewhere than in Hono, in its own words. */
const MOUNTED: Readonly<Record<string, { readonly line: string; readonly before: string; readonly after: string }>> = {
  Node: {
    line: "createServer(listener)",
    before: 'import { createServer } from "node:http";',
    after: ".listen(0, ready);",
  },
  Express: {
    line: 'app.all("/api/{*path}", listener)',
    before: 'import express from "express";\nconst app = express();',
    after: ";\napp.use(express.json());\nconst opened = app.listen(0, () => ready.call(opened));",
  },
};

function serverOf({ line, before, after }: (typeof MOUNTED)[string]): string {
  expect(words).toContain(`\`${line}\``);
  const handler = server.slice(0, server.indexOf("const page ="));
  const ready = "function ready() {\n  console.log(`http://localhost:$" + "{this.address().port}`);\n}";
  return `import { getRequestListener } from "@hono/node-server";\n${before}\n${handler}
const listener = getRequestListener(api);\n${ready}\n${line}${after}\n`;
}

let packages: Installed;
let folder: string;
let service: LocalService;
let browser: Browser;
let running: ChildProcess | null = null;

beforeAll(async () => {
  [packages, browser] = await Promise.all([installed(), startBrowser()]);
});
beforeEach(async () => {
  folder = makeProject(packages);
  writeInto(folder, filesOf(PAGE));
  copyFileSync(join(root, "recipes/models.ts"), join(folder, "models.ts"));
  service = await startLocalService({
    dataDir: join(folder, ".showrunner/local"),
    renderer: "stub",
    balance: 10,
    speed: 40,
  });
});
afterEach(async () => {
  running?.kill("SIGKILL");
  await service.close();
});
afterAll(async () => {
  await browser?.close();
  rmSync(dirname(packages.modules), { recursive: true, force: true });
});

/** Starts it as the page says; answers its port once it said its address. */
async function started(file: string): Promise<number> {
  const { SHOWRUNNER_BASE_URL: _url, SHOWRUNNER_API_KEY: _key, ...env } = process.env;
  const child = spawn(process.execPath, [file], { cwd: folder, env: { ...env, PORT: "0" } });
  running = child;
  let said = "";
  return new Promise((found, failed) => {
    const read = (chunk: Buffer) => {
      said += chunk;
      const port = /http:\/\/localhost:(\d+)/.exec(said)?.[1];
      if (port !== undefined) found(Number(port));
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("exit", (code) => failed(new Error(`${file} ended (${code}):\n${said}`)));
  });
}

describe("in Chromium, the page's app", () => {
  let port: number;
  let proxy: TcpProxy;
  let page: Page;

  beforeEach(async () => {
    port = await started("server.ts");
    proxy = await tcpProxy(port, () => "pass");
    page = await browser.newPage();
  });
  afterEach(async () => {
    await page.close();
    await proxy.close();
  });

  const listed = async () => {
    const headers = { Authorization: "Bearer token-of-acme" };
    return ((await (await fetch(`http://127.0.0.1:${port}/api/runs`, { headers })).json()) as { runs: unknown[] }).runs;
  };
  const says = (text: string) => page.locator("p", { hasText: new RegExp(`^${text}$`) }).waitFor();
  const poster = () => page.waitForFunction("document.querySelector('img').naturalWidth > 0");

  test("shows how far the poster is, through a reload and a network that is away, and then the poster", async () => {
    service.clock.manual();
    await page.goto(`http://127.0.0.1:${proxy.port}/`);
    await page.getByRole("button", { name: "Make order 7 for $" }).click();
    await says("running");
    await page.getByRole("progressbar").waitFor();

    await page.reload();
    await says("running");
    proxy.sever();
    await says("offline");
    service.clock.scaled(40);
    await vi.waitFor(async () => expect(await listed()).toMatchObject([{ status: "succeeded" }]), { timeout: 60_000 });
    proxy.restore();
    await says("succeeded");
    await poster();
    expect(await page.getByRole("progressbar").isVisible()).toBe(false);
    expect(service.stats().jobs_created).toBe(1);
  });

  test("says what is wrong where the server refuses", async () => {
    const words = "nobody is known here";
    await page.route("**/api/poster/runs", (route) =>
      route.fulfill({ status: 401, json: { error: { message: words } } }),
    );
    await page.goto(`http://127.0.0.1:${proxy.port}/`);
    await page.getByRole("button", { name: "Make order 7 for $" }).click();
    await says(words);
  });
});

test("the page's test passes", async () => {
  const vitest = join(packages.modules, "vitest/vitest.mjs");
  const { stdout } = await promisify(execFile)(process.execPath, [vitest, "run", "poster.test.ts"], { cwd: folder });
  expect(stdout).toMatch(/1 passed/);
});

test.each(Object.entries(MOUNTED))("%s serves the handler as the page says", async (_name, mounted) => {
  writeInto(folder, { "other.ts": serverOf(mounted) });
  const api = `http://127.0.0.1:${await started("other.ts")}/api`;
  const headers = { Authorization: "Bearer token-of-acme", "Content-Type": "application/json", "Idempotency-Key": "1" };
  const input = { subject: "a kite" };
  const post = (path: string, body: object) =>
    fetch(`${api}/poster/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const quote = (await (await post("quote", { input })).json()) as { readonly id: string };
  const made = await post("runs", { input, quote: quote.id });
  expect(made.status).toBe(201);
  const { id } = (await made.json()) as { readonly id: string };
  const events = await (await fetch(`${api}/runs/${id}/events`, { headers })).text();
  expect(events).toContain("run.finished");
  const run = (await (await fetch(`${api}/runs/${id}`, { headers })).json()) as {
    readonly outputs: { readonly poster: { readonly url: string } };
  };
  const file = await fetch(new URL(run.outputs.poster.url, api), { headers: { Range: "bytes=1-3" } });
  expect([file.status, await file.text()]).toEqual([206, "PNG"]);
});
