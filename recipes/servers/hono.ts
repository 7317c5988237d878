/**
 * A hono server that makes films on request: it quotes a price, then starts a run that webhooks continue. It uses the
 * same Showrunner as long as it runs. After a restart, it resumes unfinished runs.
 */
import { createReadStream, statSync } from "node:fs";
import { Readable } from "node:stream";
import { Hono } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import { bodyLimit } from "hono/body-limit";
import { OverBudgetError, openShowrunner, PlanProblemsError, type Showrunner } from "showrunner";
import { createWebhookHandler, seenInFile } from "showrunner/client";
import { z } from "zod";
import film from "../image-to-video.ts";

export interface AppOptions {
  readonly show: Showrunner;
  /** Maximum cost of one film, in US dollars as a decimal string. */
  readonly budget: string;
  /** Token that callers send as `Authorization: Bearer …`. */
  readonly token: string;
  /** File with the ids of handled webhooks. */
  readonly seenFile: string;
}

/** An order. Its id comes from the caller: a repeated request means the same order, so nothing is paid for twice. */
const order = z.strictObject({ id: z.string().regex(/^[a-z0-9-]{1,60}$/), subject: z.string().min(1).max(500) });

export function createApp({ show, budget, token, seenFile }: AppOptions): Hono {
  const app = new Hono();
  const receive = createWebhookHandler({ client: show.client, seen: seenInFile(seenFile) });
  // The service signs its requests, so they need no token. The signature covers the raw bytes of the request.
  app.post("/hooks/media", (context) => receive(context.req.raw));

  app.use("/films/*", bearerAuth({ token }));
  app.post("/films/price", bodyLimit({ maxSize: 10_000 }), async (context) => {
    const given = order.safeParse(await context.req.json().catch(() => null));
    if (!given.success) return context.json({ error: z.prettifyError(given.error) }, 400);
    const { ok, problems, totalMicros } = await show.quote(film, { scene: given.data.subject });
    return ok
      ? context.json({ usd: totalMicros.max === null ? null : totalMicros.max / 1e6 })
      : context.json({ problems }, 422);
  });
  app.post("/films/orders", bodyLimit({ maxSize: 10_000 }), async (context) => {
    const given = order.safeParse(await context.req.json().catch(() => null));
    if (!given.success) return context.json({ error: z.prettifyError(given.error) }, 400);
    const { id, subject } = given.data;
    try {
      const run = await show.run(film, { scene: subject }, { id: `film-${id}`, budget });
      // The run continues after the response; the status route below reads a failure from the journal.
      run.result().catch((error: unknown) => console.error(`film-${id}`, error));
      return context.json({ id, status: "running" }, 202);
    } catch (error) {
      if (error instanceof PlanProblemsError) return context.json({ error: error.message }, 422);
      if (error instanceof OverBudgetError) return context.json({ error: error.message }, 402);
      if ((error as { readonly code?: string }).code === "RUN_DIFFERS")
        return context.json({ error: "this id belongs to another order" }, 409);
      throw error;
    }
  });
  app.get("/films/orders/:id", async (context) => {
    const report = await show.show(`film-${context.req.param("id")}`).catch(() => null);
    if (report === null) return context.json({ error: "no such order" }, 404);
    const { status, message, cost, steps } = report;
    return context.json({
      status,
      message,
      usd: cost,
      steps: steps.map(({ path, status: is }) => ({ path, status: is })),
    });
  });
  app.get("/films/orders/:id/film", async (context) => {
    const handle = await show.resume(`film-${context.req.param("id")}`, { pipeline: film }).catch(() => null);
    const result = await handle?.result();
    if (result?.status !== "succeeded") return context.json({ error: "not finished yet" }, 404);
    const { path, contentType } = result.outputs.video;
    return new Response(Readable.toWeb(createReadStream(path)) as ReadableStream, {
      headers: { "Content-Type": contentType, "Content-Length": String(statSync(path).size) },
    });
  });
  return app;
}

/** Sets the service's webhook address and resumes runs of an earlier process. */
export async function start(show: Showrunner, publicUrl: string): Promise<void> {
  await show.client.webhooks.default.set({ url: `${publicUrl}/hooks/media` });
  show.client.expectWebhooks();
  for (const { runId, pipeline } of await show.due()) {
    if (pipeline !== film.name) continue;
    const handle = await show.resume(runId, { pipeline: film, unattended: true });
    handle.result().catch((error: unknown) => console.error(runId, error));
  }
}

if (import.meta.main) {
  const { serve } = await import("@hono/node-server");
  const { PUBLIC_URL = "http://127.0.0.1:3000", FILMS_TOKEN } = process.env;
  if (!FILMS_TOKEN) throw new Error("Set FILMS_TOKEN to the bearer token that callers have to send.");
  const show = await openShowrunner();
  const app = createApp({ show, budget: "1.00", token: FILMS_TOKEN, seenFile: ".showrunner/seen-webhooks.db" });
  const server = serve({ fetch: app.fetch, port: 3000 });
  await start(show, PUBLIC_URL);
  process.once("SIGTERM", async () => {
    server.close();
    await show.close();
  });
}
