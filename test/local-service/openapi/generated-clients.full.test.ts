/** Clients that others' generators make of /openapi.json: they compile, and go through the main job. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { LocalService } from "../../../src/local-service/index.ts";
import { PICTURE } from "../../../src/local-service/start.ts";
import { isComplete } from "../../support/absence.ts";
import { folder, generateClients, install, typeProblems } from "../support/generators.ts";
import { receiver } from "../support/receiver.ts";
import { key, start } from "../support/service.ts";

/** Generating and compiling, on a busy machine. */
const TIMEOUT_MS = 240_000;

let absent: string | null = null;

beforeAll(async () => {
  mkdirSync(join(folder, "generated"), { recursive: true });
  absent = await install();
  if (absent !== null && isComplete) throw new Error(absent);
}, TIMEOUT_MS);

/** What both clients are to find, whichever profile answers. */
const FOUND = {
  models: ["video-1", "avatar-1", "upscale-1"],
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
    "clients of two generators compile, and both go through the main job",
    async (context) => {
      if (absent !== null) return context.skip(absent);
      const service = await start(options);
      await generateClients(await (await fetch(`${service.baseUrl}/openapi.json`)).text());
      expect(await typeProblems()).toBe("");
      for (const file of ["openapi-fetch.ts", "hey-api.ts"]) {
        const { run } = await clientOf(file);
        expect(await run(await setting(service)), file).toEqual(FOUND);
      }
    },
    TIMEOUT_MS,
  );
});
