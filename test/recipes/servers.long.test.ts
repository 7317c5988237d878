import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createApp, start } from "../../recipes/servers/hono.ts";
import { openShowrunner, type Showrunner } from "../../src/index.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";

let service: LocalService;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "recipe-servers-"));
  service = await startLocalService({ renderer: "stub", balance: 10, dataDir: join(folder, "service") });
});
afterEach(() => service.close());

const open = () =>
  openShowrunner({ baseUrl: service.baseUrl, apiKey: service.apiKey, journal: join(folder, "journal.db") });

describe("the hono server", () => {
  let show: Showrunner;
  let origin: string;
  let server: ReturnType<typeof serve>;
  beforeEach(async () => {
    // Named files go below the working folder by default.
    vi.spyOn(process, "cwd").mockReturnValue(folder);
    show = await open();
    const app = createApp({ show, budget: "0.50", token: "s3cret", seenFile: join(folder, "seen.db") });
    server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
    await once(server, "listening");
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await start(show, origin);
  });
  afterEach(async () => {
    server.close();
    await show.close();
    vi.restoreAllMocks();
  });

  const call = async (method: string, path: string, body?: unknown, token = "s3cret") => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    return fetch(`${origin}${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  };

  test("prices, makes and hands out a film; the service's webhooks move the run, and a repeated order is one order", async () => {
    const order = { id: "boat-1", subject: "a paper boat" };
    expect(await (await call("POST", "/films/price", order)).json()).toEqual({ usd: 0.2 });
    expect((await call("POST", "/films/orders", order)).status).toBe(202);
    expect((await call("POST", "/films/orders", order)).status).toBe(202);
    const status = async () =>
      (await (await call("GET", "/films/orders/boat-1")).json()) as { readonly status: string };
    await vi.waitFor(async () => expect((await status()).status).toBe("succeeded"), { timeout: 40_000, interval: 200 });
    const film = await call("GET", "/films/orders/boat-1/film");
    expect([film.status, film.headers.get("content-type")]).toEqual([200, "video/mp4"]);
    expect(
      Buffer.from(await film.arrayBuffer())
        .subarray(4, 8)
        .toString(),
    ).toBe("ftyp");
    expect(service.stats().jobs_created).toBe(2);
    const deliveries: unknown[] = [];
    for await (const delivery of show.client.webhooks.deliveries()) deliveries.push(delivery);
    expect(deliveries).toHaveLength(2);
    const requests = service.stats().requests;
    expect(requests["GET /jobs/{id}/stream"]).toBeUndefined();
  });

  test("refuses strangers, wrong orders and another order under the same id", async () => {
    expect((await call("POST", "/films/orders", {}, "wrong")).status).toBe(401);
    expect((await call("POST", "/films/orders", { id: "../x", subject: "x" })).status).toBe(400);
    expect((await call("POST", "/films/orders", { id: "x", subject: "x".repeat(20_000) })).status).toBe(413);
    expect((await call("GET", "/films/orders/none")).status).toBe(404);
    expect((await call("POST", "/films/orders", { id: "x", subject: "one" })).status).toBe(202);
    expect((await call("POST", "/films/orders", { id: "x", subject: "two" })).status).toBe(409);
    expect((await fetch(`${origin}/hooks/media`, { method: "POST", body: "{}" })).status).toBe(400);
  });
});

test("the Next.js route handlers order a film once and tell how far it is", async () => {
  const cwd = process.cwd();
  vi.spyOn(process, "cwd").mockReturnValue(folder);
  vi.stubEnv("SHOWRUNNER_BASE_URL", service.baseUrl);
  vi.stubEnv("SHOWRUNNER_API_KEY", service.apiKey);
  vi.stubEnv("SHOWRUNNER_JOURNAL", join(folder, "next.db"));
  expect(cwd).not.toBe(folder);
  const { POST } = await import("../../recipes/servers/next/app/api/films/route.ts");
  const { GET } = await import("../../recipes/servers/next/app/api/films/[run]/route.ts");
  const hooks = await import("../../recipes/servers/next/app/api/hooks/media/route.ts");
  const { showrunner } = await import("../../recipes/servers/next/lib/showrunner.ts");
  try {
    const order = (body: unknown) =>
      POST(new Request("http://next.test/api/films", { method: "POST", body: JSON.stringify(body) }));
    expect((await order({ id: "boat" })).status).toBe(400);
    const ordered = await order({ id: "boat", subject: "a paper boat" });
    expect([ordered.status, ordered.headers.get("location")]).toEqual([202, "/api/films/film-boat"]);
    expect((await order({ id: "boat", subject: "a paper boat" })).status).toBe(202);
    expect((await order({ id: "boat", subject: "a steam boat" })).status).toBe(409);
    const status = async (run: string) =>
      GET(new Request(`http://next.test/api/films/${run}`), { params: Promise.resolve({ run }) });
    const done = async () =>
      expect(await (await status("film-boat")).json()).toMatchObject({
        status: "succeeded",
        steps: { done: 2, of: 2 },
      });
    await vi.waitFor(done, { timeout: 40_000, interval: 200 });
    expect((await status("other-run")).status).toBe(404);
    expect(
      (await hooks.POST(new Request("http://next.test/api/hooks/media", { method: "POST", body: "{}" }))).status,
    ).toBe(400);
    expect(service.stats().jobs_created).toBe(2);
  } finally {
    await (await showrunner()).close();
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  }
});
