import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { pipeline } from "../../../src/index.ts";
import { createHandler, type Handler } from "../../../src/studio/handler/index.ts";
import { startBrowser } from "../../demo/support/browser.ts";
import { localShow } from "../../support/local-show.ts";
import { type TcpProxy, tcpProxy } from "../../support/tcp-proxy.ts";
import { builtClient } from "./support/built-client.ts";

/** Two waits for a person, between which it is in the middle of its run for as long as the test wants. */
const film = pipeline("film", {
  input: z.object({ prompt: z.string() }),
  build({ job, approve, input }) {
    const first = approve("first", job("sketch", models.image, { prompt: input.prompt }));
    const second = approve("second", job("still", models.image, { prompt: "still", images: [first] }));
    return { film: second };
  },
});

const world = localShow();
let browser: Browser;
let api: Handler;
let server: ReturnType<typeof serve>;
let proxy: TcpProxy;
let page: Page;

beforeAll(async () => {
  const script = await builtClient(join(import.meta.dirname, "fixtures/page.js"));
  const authorize = (request: Request) =>
    request.headers.get("Authorization") === "Bearer acme" ? { tags: { customer: "acme" }, budget: "5" } : null;
  api = createHandler(world.show, {
    prefix: "/api",
    pipelines: { film },
    authorize,
    filesDir: join(world.folder, "sent"),
  });
  const app = new Hono()
    .all("/api/*", (context) => api(context.req.raw))
    .get("/client.js", (context) => context.body(script, 200, { "Content-Type": "text/javascript" }))
    .get("/", (context) =>
      context.html('<!doctype html><title>Film</title><script type="module" src="/client.js"></script>'),
    );
  server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
  await once(server, "listening");
  proxy = await tcpProxy((server.address() as AddressInfo).port, () => "pass");
  browser = await startBrowser();
  page = await browser.newPage();
  page.on("pageerror", (error) => console.error(error.message));
});

afterAll(async () => {
  await browser?.close();
  api?.close();
  await proxy?.close();
  server?.close();
});

const text = (id: string) => page.locator(`#${id}`).textContent();
const seen = () => page.evaluate("globalThis.seen") as Promise<number[]>;

test("a run that a page started survives a reload in its middle and a network that is cut while things happen", async () => {
  await page.goto(`http://127.0.0.1:${proxy.port}/`);
  await page.getByRole("button", { name: "Approve first" }).waitFor();
  const id = (await text("id"))!;

  await page.reload();
  await page.getByRole("button", { name: "Approve first" }).waitFor();
  expect(await text("id")).toBe(id);
  await page.getByRole("button", { name: "Approve first" }).click();
  await page.getByRole("button", { name: "Approve second" }).waitFor();

  proxy.sever();
  await page.locator("#connection", { hasText: "lost" }).waitFor();
  await world.show.approve(id, "second");
  await (await world.show.resume(id, { pipeline: film })).result();
  proxy.restore();
  await page.locator("#status", { hasText: "succeeded" }).waitFor();
  await page.locator("#connection", { hasText: "over" }).waitFor();

  const image = page.getByRole("img", { name: "the film" });
  await image.waitFor();
  await page.waitForFunction("document.images[0].complete && document.images[0].naturalWidth > 0");
  const events = await world.show.journal.read(id);
  expect(await seen()).toEqual(events.map(({ seq }) => seq));
  expect((await world.show.runs({ tags: { customer: "acme" } })).map(({ runId }) => runId)).toEqual([id]);
});
