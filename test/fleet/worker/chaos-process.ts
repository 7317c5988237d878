/**
 * A worker for chaos tests: `node chaos-process.ts <journal> <base url> <api key> <media> <lease ms> [EngineSpec as JSON]`, by default
 * on pg-boss in the journal's database. It sends a message when it accepts work. If a server is unavailable at the start, it exits
 * with 75, and its supervisor starts it again.
 */

import { startWorker } from "../../../src/fleet/worker/index.ts";
import { openShowrunner } from "../../../src/index.ts";
import { type EngineSpec, openEngine } from "./engines.ts";
import { changedFan, fan } from "./fixtures/fan.ts";
import { slow } from "./fixtures/slow.ts";
import { studio } from "./fixtures/studio.ts";

const [journal = "", baseUrl = "", apiKey = "", mediaDir = "", leaseMs = "", spec] = process.argv.slice(2);
const pipelines = process.env.CODE === "none" ? [] : [studio, slow, process.env.CODE === "changed" ? changedFan : fan];
const clientOptions = { retry: { maxAttempts: 2, maxElapsedMs: 15_000 } };
const say = (error: unknown, what: string) => console.error(what, error instanceof Error ? error.message : error);

async function open() {
  const show = await openShowrunner({
    ...{ journal, baseUrl, apiKey, mediaDir, clientOptions, notify: false, leaseMs: Number(leaseMs) },
  });
  const given: EngineSpec = spec ? JSON.parse(spec) : { kind: "pg-boss", connectionString: journal };
  const engine = await openEngine(given, say);
  const onError = (error: unknown) => say(error, "sweep");
  return startWorker({
    ...{ show, engine, onError, slices: 8, sweepEveryMs: 1_000 },
    findPipeline: async ({ plan }) => pipelines.find(({ name }) => name === plan.pipeline) ?? null,
    onSlice: (runId, { status, message }) => {
      if (status === "busy" || status === "left") say(message, `${runId} ${status}`);
    },
  });
}

const worker = await open().catch((error: unknown) => {
  say(error, "start");
  process.exit(75);
});
process.on("SIGTERM", () => {
  worker.stop({ drainMs: 20_000 }).then(() => process.exit(0));
});
process.send?.("ready");
