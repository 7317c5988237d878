/** Clients that others' generators make of /openapi.json: they compile, and go through the main job. A linter finds no error in it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { BUILT_IN_MODELS } from "../../../src/local-service/catalog/builtin/index.ts";
import type { LocalService } from "../../../src/local-service/index.ts";
import { PICTURE } from "../../../src/local-service/start.ts";
import { isComplete } from "../../support/absence.ts";
import { folder, generateClients, install, lintErrors, typeProblems } from "../support/generators.ts";
import { receiver } from "../support/receiver.ts";
import { key, start } from "../support/service.ts";

/** Generating and compiling, on a busy machine. */
const TIMEOUT_MS = 600_000;

let absent: string | null = null;

beforeAll(async () => {
  mkdirSync(join(folder, "generated"), { recursive: true });
  absent = await install();
  if (absent !== null) process.stderr.write(`NOT TESTED: ${absent}\n`);
  if (absent !== null && isComplete) throw new Error(absent);
}, TIMEOUT_MS);

/** What both clients are to find, whichever profile answers. */
const FOUND = {
  models: BUILT_IN_MODELS.filter(({ entry, state }) => entry.modality === "video" && state.is === "live").map(
    ({ entry }) => entry.id,
  ),
  required: ["prompt"],
  estimated: 0.12,
  charged: 0.12,
  enlarged: "IN_QUEUE",
  statuses: ["COMPLETED", "COMPLETED"],
  events: ["queued", "moderation.passed", "started", "provider.submitted", "finalizing", "download.ready", "completed"],
  ended: true,
  downloaded: ["image/png", "image/png"],
  refusals: [
    { status: 400, code: "INVALID_ARGUMENT", more: "input.prompt input.duration_ms" },
    { status: 402, code: "INSUFFICIENT_BALANCE", more: 0.12 },
    { status: 422, code: "MODERATION_FAILED", more: "input.prompt" },
    { status: 404, code: "NOT_FOUND", more: "false" },
    { status: 429, code: "RESOURCE_EXHAUSTED", more: 7 },
  ],
  key: { scopes: ["jobs:read"], rotated: true, left: false },
  hook: { url: expect.stringMatching(/^http/), enabled: true, tested: true },
  announced: ["same", "COMPLETED"],
  drain: { format: "ndjson", paused: "disabled_by_user", left: false },
  said: "assistant",
};

/** What the others find, with what is required alone. */
const MADE = { status: "COMPLETED", contentTypes: ["image/png"], refused: "input.quality", voices: ["Sally"] };

interface Client {
  run(setting: object): Promise<unknown>;
}

/** Its scenario is compiled by the test itself, against what was generated. */
const clientOf = (file: string) => import(/* @vite-ignore */ join(folder, file)) as Promise<Client>;

async function setting(service: LocalService) {
  const hook = await receiver();
  return {
    baseUrl: service.baseUrl,
    apiKey: service.apiKey,
    poorKey: await key(service, { workspace_id: "poor" }),
    picture: PICTURE.bytes,
    hookUrl: hook.url,
    arrived: async (count: number) => (await hook.arrived(count)).map(({ body }) => String(body)),
    refuseNext: (route: string, code: "RESOURCE_EXHAUSTED") =>
      service.faults([{ kind: "error", route, code, retry_after: 7, count: 1 }]),
  };
}

describe.each([
  ["the strict profile", { strict: true, deliverToLoopback: true }],
  ["the default profile", {}],
])("%s", (_profile, options) => {
  test(
    "clients of four generators compile, and all do what the document says",
    async (context) => {
      if (absent !== null) return context.skip(absent);
      const service = await start(options);
      await generateClients(await (await fetch(`${service.baseUrl}/openapi.json`)).text());
      expect(await typeProblems()).toBe("");
      for (const file of ["openapi-fetch.ts", "hey-api.ts"]) {
        const { run } = await clientOf(file);
        expect(await run(await setting(service)), file).toEqual(FOUND);
      }
      for (const file of ["swagger-typescript-api.ts", "orval.ts"]) {
        const { run } = await clientOf(file);
        expect(await run(await setting(service)), file).toEqual(MADE);
      }
    },
    TIMEOUT_MS,
  );
});

test(
  "a common linter finds no error in the documents, the models' own included",
  async (context) => {
    if (absent !== null) return context.skip(absent);
    const service = await start();
    const text = async (path: string) => {
      const headers = { Authorization: `Bearer ${service.apiKey}` };
      return (await fetch(service.baseUrl + path, { headers })).text();
    };
    const { data } = JSON.parse(await text("/models")) as { readonly data: readonly { readonly id: string }[] };
    for (const path of ["/openapi.json", ...data.map(({ id }) => `/models/${id}/openapi.json`)]) {
      expect(await lintErrors(await text(path)), path).toEqual([]);
    }
    expect(await lintErrors(JSON.stringify({ openapi: "3.1.0", info: {}, paths: {} }))).not.toEqual([]);
  },
  TIMEOUT_MS,
);
