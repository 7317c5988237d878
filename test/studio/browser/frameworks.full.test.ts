/** The component of docs/in-your-server.md, in React and in Preact, in Chromium. */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { pipeline } from "../../../src/index.ts";
import { createHandler, type Handler } from "../../../src/studio/handler/index.ts";
import { startBrowser } from "../../demo/support/browser.ts";
import { codeBlocks, root } from "../../docs/support/code-blocks.ts";
import { localShow } from "../../support/local-show.ts";
import { type TcpProxy, tcpProxy } from "../../support/tcp-proxy.ts";
import { builtClient } from "./support/built-client.ts";

/** As the page's, with a wait for a person, so that it is in the middle of its run for as long as the test wants. */
const poster = pipeline("poster", {
  input: z.object({ subject: z.string() }),
  build: ({ job, approve, input }) => ({
    poster: approve("look", job("poster", models.image, { prompt: input.subject }), { message: "Is it good?" }),
  }),
});

const FRAMEWORKS = {
  React: {
    alias: {},
    main: 'import { StrictMode } from "react"; import { createRoot } from "react-dom/client";',
    mount: "createRoot(document.querySelector('main')).render(<StrictMode>{it}</StrictMode>)",
  },
  Preact: {
    alias: { "react/jsx-runtime": "preact/jsx-runtime", react: "preact/compat" },
    main: 'import { render } from "preact";',
    mount: "render(it, document.querySelector('main'))",
  },
};

const world = localShow();
const { code } = codeBlocks().find(({ marks }) => marks.includes("file=order.tsx"))!;
let folder: string;
let browser: Browser;
let api: Handler;

beforeAll(async () => {
  mkdirSync(join(root, ".showrunner"), { recursive: true });
  folder = mkdtempSync(join(root, ".showrunner/frameworks-"));
  writeFileSync(join(folder, "order.tsx"), code);
  const authorize = (request: Request) =>
    request.headers.get("Authorization") === "Bearer token-of-acme"
      ? { tags: { customer: "acme" }, budget: "5" }
      : null;
  const filesDir = join(world.folder, "sent");
  api = createHandler(world.show, { prefix: "/api", pipelines: { poster }, authorize, filesDir });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  api?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(Object.entries(FRAMEWORKS))("the page's component in %s", (name, { alias, main, mount }) => {
  let server: ReturnType<typeof serve>;
  let proxy: TcpProxy;
  let page: Page;

  beforeAll(async () => {
    const entry = join(folder, `${name}.tsx`);
    const it = `<Poster order="order-${name}" subject="a kite" />`;
    writeFileSync(entry, `${main}\nimport { Poster } from "./order.tsx";\nconst it = ${it};\n${mount};\n`);
    const script = await builtClient(entry, alias);
    const app = new Hono()
      .all("/api/*", (context) => api(context.req.raw))
      .get("/client.js", (context) => context.body(script, 200, { "Content-Type": "text/javascript" }))
      .get("/", (context) => context.html('<main></main><script type="module" src="/client.js"></script>'));
    server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
    await once(server, "listening");
    proxy = await tcpProxy((server.address() as AddressInfo).port, () => "pass");
    page = await browser.newPage();
    page.on("pageerror", (error) => console.error(error.message));
  });
  afterAll(async () => {
    await page?.close();
    await proxy?.close();
    server?.close();
  });

  test("shows one run through a reload and a network that is away, and then its poster", async () => {
    await page.goto(`http://127.0.0.1:${proxy.port}/`);
    await page.getByRole("button", { name: "Make it for $0.02" }).click();
    const waits = page.locator("p", { hasText: "waiting for a decision" });
    await waits.waitFor();
    await page.reload();
    await waits.waitFor();

    proxy.sever();
    await page.locator("p", { hasText: "offline" }).waitFor();
    const [run, ...others] = await world.show.runs({ tags: { customer: "acme", endpoint: "poster" }, limit: 1 });
    expect(others).toEqual([]);
    await world.show.approve(run!.runId, "look");
    await (await world.show.resume(run!.runId, { pipeline: poster })).result();
    proxy.restore();
    await page.getByRole("img", { name: "The poster" }).waitFor();
    await page.waitForFunction("document.images[0].naturalWidth > 0");
    const started = await world.show.runs({ tags: { customer: "acme" } });
    expect(new Set(started.map(({ runId }) => runId)).size).toBe(Object.keys(FRAMEWORKS).indexOf(name) + 1);
  });
});
