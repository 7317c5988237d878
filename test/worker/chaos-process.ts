/** One worker of the chaos: `node chaos-process.ts <journal> <base url> <api key> <folder>`; it answers when it takes work. */
import { openShowrunner } from "../../src/index.ts";
import { createPgBossEngine } from "../../src/pg-boss/index.ts";
import { startWorker } from "../../src/worker/index.ts";
import { studio } from "./fixtures/studio.ts";

const [journal = "", baseUrl = "", apiKey = "", mediaDir = ""] = process.argv.slice(2);
const clientOptions = { retry: { maxAttempts: 2, maxElapsedMs: 15_000 } };
const show = await openShowrunner({ journal, baseUrl, apiKey, mediaDir, clientOptions, notify: false });
const engine = await createPgBossEngine({
  connectionString: journal,
  onError: (error, what) => console.error(what, error instanceof Error ? error.message : error),
});
const worker = await startWorker({ show, engine, findPipeline: async () => studio, slices: 8, sweepEveryMs: 1_000 });
process.on("SIGTERM", () => {
  worker.stop({ drainMs: 20_000 }).then(() => process.exit(0));
});
process.send?.("ready");
