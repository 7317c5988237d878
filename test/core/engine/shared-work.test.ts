import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Client } from "../../../src/core/api/index.ts";
import { openMediaStore } from "../../../src/core/engine/media/folder-store.ts";
import { UploadHandles } from "../../../src/core/engine/media/handles.ts";
import { EstimateCache } from "../../../src/core/engine/price/estimates.ts";
import { createMemoryJournal, openShowrunner } from "../../../src/index.ts";
import { FakePaidService, models, pipelineOf } from "../../support/engine.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const folder = newFolder();

/** A client on paper whose answers to one method wait until they are let go; what is aborted rejects. */
function waiting(method: "estimate" | "upload") {
  const paidService = new FakePaidService();
  const client = paidService.client();
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const signals: (AbortSignal | undefined)[] = [];
  const slow = async (given: never, options?: { readonly signal?: AbortSignal }) => {
    signals.push(options?.signal);
    begun.resolve();
    await gate.promise;
    options?.signal?.throwIfAborted();
    return client[method](given, options as never);
  };
  return { client: { ...client, [method]: slow } as Client, paper: paidService, gate, begun, signals };
}

describe("An estimate that two wait for", () => {
  const ask = (cache: EstimateCache, signal: AbortSignal, resolveUploads = async () => ({ prompt: "x" })) =>
    cache.ask(models.image.id, { prompt: "x" }, resolveUploads, { signal });

  test("reaches the remaining waiter, computed once, when the first requester stops", async () => {
    const { client, gate, signals } = waiting("estimate");
    const cache = new EstimateCache(client, () => 0, 1_000);
    const [one, other] = [new AbortController(), new AbortController()];
    const first = ask(cache, one.signal);
    const second = ask(cache, other.signal);
    one.abort(new Error("stopped"));
    await expect(first).rejects.toThrow("stopped");
    gate.resolve();
    expect((await second).costMicros).toBe(100_000);
    expect(signals).toEqual([undefined]);
  });

  test("is computed anew when the one who computed it stopped halfway", async () => {
    const { client, gate, signals } = waiting("estimate");
    const cache = new EstimateCache(client, () => 0, 1_000);
    const [one, other] = [new AbortController(), new AbortController()];
    const broken = Promise.withResolvers<{ prompt: string }>();
    const first = ask(cache, one.signal, () => broken.promise);
    const second = ask(cache, other.signal);
    one.abort(new Error("stopped"));
    broken.reject(one.signal.reason);
    await expect(first).rejects.toThrow("stopped");
    gate.resolve();
    expect((await second).costMicros).toBe(100_000);
    expect(signals.length).toBe(1);
  });

  test("fails for both when it is refused", async () => {
    const { client } = waiting("estimate");
    const refusing = { ...client, estimate: () => Promise.reject(new Error("refused")) };
    const cache = new EstimateCache(refusing, () => 0, 1_000);
    const both = [ask(cache, new AbortController().signal), ask(cache, new AbortController().signal)];
    const outcomes = await Promise.allSettled(both);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
});

test("an upload that two wait for comes to the one who goes on waiting, sent once", async () => {
  const { client, gate, begun, paper: paidService, signals } = waiting("upload");
  const media = await openMediaStore(join(folder, "media"));
  const { sha256 } = await media.put({ bytes: Buffer.from("a picture") });
  const handles = new UploadHandles({ client, media, store: createMemoryJournal(), now: () => 0 });
  const one = new AbortController();
  const first = handles.url(sha256, { signal: one.signal });
  const second = handles.url(sha256);
  await begun.promise;
  one.abort(new Error("stopped"));
  await expect(first).rejects.toThrow("stopped");
  const third = handles.url(sha256);
  gate.resolve();
  expect(await second).toBe(await third);
  expect(paidService.uploads.size).toBe(1);
  expect(signals).toEqual([undefined]);
});

test("a run continues when another with the same request is stopped", async () => {
  const drawn = pipelineOf("drawn", ({ job }) => {
    const a = job("a", models.image, { prompt: "a" });
    return { b: job("b", models.image, { prompt: "b", images: [a] }) };
  });
  const { client, gate, begun } = waiting("estimate");
  const asked = { ...client };
  // Prices of the plan come at once; only what a run asks on its way waits.
  const plain = new FakePaidService().client();
  asked.estimate = (request, options) =>
    JSON.stringify(request.input).includes("asset_id")
      ? client.estimate(request, options)
      : plain.estimate(request, options);
  const show = await openShowrunner({
    client: asked,
    ...{ journal: createMemoryJournal(), mediaDir: join(folder, "runs") },
  });
  const x = await show.run(drawn, {}, { id: "x", outDir: join(folder, "x") });
  const y = await show.run(drawn, {}, { id: "y", outDir: join(folder, "y") });
  await begun.promise;
  await x.stop();
  gate.resolve();
  expect((await y.result()).status).toBe("succeeded");
  await show.close();
});
