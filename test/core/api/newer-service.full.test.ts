import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { verifyWebhook } from "../../../src/core/api/index.ts";
import { createClient, createMemoryJournal, openShowrunner, pipeline } from "../../../src/index.ts";
import { startLocalService } from "../../../src/local-service/index.ts";
import { jobBody } from "../../support/fake-service.ts";
import { type PassingAnswer, startProxy } from "../../support/proxy.ts";
import { signedHeaders, signingKey } from "../../support/signed-webhook.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const postcard = pipeline("postcard", {
  input: z.object({}),
  build({ job, chat }) {
    const idea = chat("idea", "chat-1", { prompt: "A place by the sea" }, { maxCost: "0.05" });
    const picture = job("picture", "image-1", { prompt: idea, aspect_ratio: "16:9" });
    const film = job("film", "video-1", {
      start_image: picture,
      prompt: "The boat drifts",
      aspect_ratio: "16:9",
      duration_ms: 3000,
    });
    return { idea, film };
  },
});

// biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes
type Body = any;

/** Fields that are known today, and null where a later service has nothing to say. */
const NULLS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^\/jobs\/[^/]+$/, ["quality", "metrics", "usage", "logs", "created_at", "completed_at"]],
  [/\/status/, ["progress", "estimated_completion_at"]],
  [/^\/models\/[^/]+$/, ["name", "description", "logo_url", "estimated_completion_at"]],
  [/^\/balance$/, ["spent"]],
  [/\/estimate$/, ["quotable", "reason"]],
];

function extended(value: Body, name = ""): Body {
  if (Array.isArray(value)) return value.map((item) => extended(item, name));
  if (typeof value !== "object" || value === null || name.endsWith("_schema")) return value;
  const fields = Object.entries(value).map(([key, item]) => [key, extended(item, key)]);
  return { ...Object.fromEntries(fields), "x-new": null, added: { list: [1, { of: null }] } };
}

function rewrite(answer: PassingAnswer): void {
  if (answer.body === undefined) return;
  const body = extended(answer.body);
  if (answer.status < 300)
    for (const [path, names] of NULLS) if (path.test(answer.path)) for (const field of names) body[field] = null;
  for (const output of body.outputs ?? []) output.fps = null;
  if (answer.path === "/models") body.data.push({ id: "hologram/one.5", modality: "hologram", name: null });
  answer.body = body;
}

test.for(["3.9", "today"] as const)(
  "a service as of %s that adds fields, leaves known ones null and names unknown members is planned with, run, resumed and read to the end",
  async (asOf) => {
    const folder = newFolder();
    const service = await startLocalService({ renderer: "stub", asOf });
    onTestFinished(() => service.close());
    const proxy = await startProxy(service.baseUrl, { fault: () => ({ type: "rewrite", rewrite }) });
    onTestFinished(() => proxy.close());
    const journal = createMemoryJournal();
    const open = () => {
      const client = createClient({ baseUrl: proxy.baseUrl, apiKey: service.apiKey });
      return openShowrunner({
        client,
        journal,
        mediaDir: join(folder, "media"),
        follow: asOf === "3.9" ? "poll" : "stream",
      });
    };
    const first = await open();
    await first.plan(postcard, {});
    await first.run(postcard, {}, { id: "card", outDir: join(folder, "out"), budget: "5" });
    await first.close();
    const second = await open();
    onTestFinished(() => second.close());
    const result = await (await second.resume("card", { pipeline: postcard })).result();
    expect(result).toMatchObject({ status: "succeeded", outputs: { film: { contentType: "video/mp4" } } });
    expect(service.stats()).toMatchObject({ jobs_by_model: { "image-1": 1, "video-1": 1, "chat-1": 1 } });
    const client = createClient({ baseUrl: proxy.baseUrl, apiKey: service.apiKey });
    onTestFinished(() => client.close());
    const ids: string[] = [];
    for await (const { id } of client.models()) ids.push(id);
    expect(ids).toContain("hologram/one.5");
    let jobs = 0;
    for await (const { jobId } of client.jobs()) jobs += jobId === "" ? 0 : 1;
    expect(jobs).toBe(3);
  },
);

test("a webhook that says more than is known is verified, and is its job's", () => {
  const { privateKey, publicKey } = signingKey();
  const body = JSON.stringify(extended({ ...jobBody("COMPLETED"), metrics: null, quality: null, prompt: null }));
  const headers = signedHeaders({ privateKey, body, signedAt: Date.now() });
  expect(verifyWebhook({ headers, body: Buffer.from(body), publicKey, now: Date.now() })).toMatchObject({
    ok: true,
    event: { job: { jobId: "job_1", status: "COMPLETED" } },
  });
});
