import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../../src/core/api/index.ts";
import {
  catalogOf,
  fetchCatalog,
  pullCatalog,
  readSnapshot,
  snapshotText,
  writeSnapshot,
} from "../../../src/core/catalog/index.ts";
import type { CatalogModel } from "../../../src/core/plan/index.ts";
import { startLocalService } from "../../../src/local-service/index.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "catalog-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("against the local service", () => {
  let client: Client;
  let service: Awaited<ReturnType<typeof startLocalService>>;
  beforeEach(async () => {
    service = await startLocalService({ renderer: "stub" });
    client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  });
  afterEach(async () => {
    await client.close();
    await service.close();
  });

  test("reads only the requested models, each once, in their present state", async () => {
    const asked = ["image-1", "image-0", "video-2", "image-1"];
    const catalog = await fetchCatalog(client, asked);
    expect(catalog.models().map(({ id, state }) => [id, state])).toEqual([
      ["image-1", "live"],
      ["image-0", "retired"],
      ["video-2", "unsupported"],
    ]);
    expect(catalog.model("image-0")?.replacedBy).toBe("image-1");
    expect(Object.keys(service.stats().requests).every((route) => route.startsWith("GET "))).toBe(true);
    expect(catalog.check(catalog.model("image-1")!, {})).toMatchObject([{ code: "required", field: "input.prompt" }]);
  });

  test("an unknown id is absent, and the others are known for suggestions", async () => {
    const catalog = await fetchCatalog(client, ["imge-1"]);
    expect(catalog.model("imge-1")).toBeNull();
    expect(catalog.ids()).toContain("image-1");
  });

  test("a chat model is in no catalog, though the service lists it; that there is none of an id is told by the list of its jobs", async () => {
    expect((await fetchCatalog(client)).ids()).not.toContain("chat-1");
    expect((await pullCatalog(client, null)).ids()).not.toContain("chat-1");
    const catalog = await fetchCatalog(client, [], ["chat-1", "chat-9", "image-1"]);
    expect(["chat-1", "chat-9", "image-1"].filter((id) => catalog.lacksChat(id))).toEqual(["chat-9"]);
    expect((await fetchCatalog(client, ["chat-1"])).model("chat-1")).toMatchObject({
      modality: "text",
      state: "unknown",
    });
    // One that makes media is known as such.
    expect(catalog.models().map(({ id }) => id)).toEqual(["image-1"]);
  });

  test("what cannot be learnt of a chat model is no evidence", async () => {
    const dark = { models: () => client.models(), model: () => Promise.reject(new Error("no network")) };
    const catalog = await fetchCatalog({ ...dark, modelJobs: () => client.modelJobs("chat-1") }, [], ["chat-9"]);
    expect(catalog.lacksChat("chat-9")).toBe(false);
  });

  test("the service serves the catalog that it ships, so that plans made offline hold", async () => {
    const fetched = await fetchCatalog(client);
    const live = builtInCatalog()
      .models()
      .filter(({ state }) => state === "live");
    expect(snapshotText(fetched)).toBe(snapshotText(catalogOf(live)));
  });

  test("a model that disappeared since the last pull stays as retired, with its last known schema", async () => {
    const before: CatalogModel = { ...builtInCatalog().model("image-0")!, state: "live" };
    const { replacedBy: _, ...was } = before;
    const pulled = await pullCatalog(client, catalogOf([was]));
    expect(pulled.model("image-0")).toMatchObject({
      state: "retired",
      replacedBy: "image-1",
      inputSchema: before.inputSchema,
    });
    expect(pulled.model("video-1")?.state).toBe("live");
  });

  test("a refused key is an error, not an empty catalog", async () => {
    const stranger = createClient({ baseUrl: service.baseUrl, apiKey: "key_none:nothing" });
    await expect(fetchCatalog(stranger, ["image-1"])).rejects.toMatchObject({ status: 401 });
    await stranger.close();
  });
});

describe("a snapshot", () => {
  test("reads back as it was written, and leaves nothing else behind", async () => {
    const file = join(folder, "catalog.json");
    await writeSnapshot(file, builtInCatalog());
    const read = await readSnapshot(file);
    expect(read.models()).toHaveLength(builtInCatalog().models().length);
    expect(snapshotText(read)).toBe(snapshotText(builtInCatalog()));
    expect(await readdir(folder)).toEqual(["catalog.json"]);
  });

  test.each([
    ["is not there", null],
    ["is no JSON", "{"],
    ["is no list", "{}"],
    ["lists what is no model", '[{"name": "x"}]'],
  ])("that %s says so, with the way to write it", async (_what, content) => {
    const file = join(folder, "bad.json");
    if (content !== null) await writeFile(file, content);
    const said = await readSnapshot(file).catch((error: unknown) => error);
    expect(said).toMatchObject({ code: "CATALOG_SNAPSHOT" });
    expect(String(said)).toMatch(/bad\.json.*showrunner models pull/);
  });
});
