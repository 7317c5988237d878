/**
 * The long search: `npm run search -- --runs 200000 --seed 1 [--shard 0/2] [--tally]`. Each batch has a seed
 * of its own and does not stop the search when it fails; `--tally` counts what is broken instead of shrinking it.
 */
import { registerHooks } from "node:module";
import { parseArgs } from "node:util";
import fc from "fast-check";

const BATCH = 500;
const simMedia = import.meta.resolve("./sim-media.ts");
// What writes and looks at the files of downloads.
const inMemory = /\/src\/(?:api\/files\/part-file|engine\/media\/output-damage)\.ts$/;
const library = import.meta.resolve("../../../src/index.ts");
// As the tests' settings have it: our own name, and files of a download in memory.
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === "showrunner") return { url: library, shortCircuit: true };
    const found = next(specifier, context);
    return inMemory.test(found.url) ? { ...found, url: simMedia } : found;
  },
});

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "200000" },
    seed: { type: "string", default: "1" },
    shard: { type: "string", default: "0/1" },
    tally: { type: "boolean", default: false },
  },
});
const { live, livesOf } = await import("./life.ts");
const { simPlans } = await import("./plans.ts");
const lives = livesOf(await simPlans());
const [shard, shards] = values.shard.split("/").map(Number) as [number, number];
const batches = Math.ceil(Number(values.runs) / BATCH);
const found = new Map<string, { count: number; log: string }>();
let count = 0;
let failures = 0;

const property = fc.asyncProperty(lives, async ([options, commands]) => {
  const world = await live(options, commands);
  if (world.broken === null) return;
  const log = `${world.broken.message}\n${world.log.join("\n")}`;
  if (!values.tally) throw new Error(log);
  const name = world.broken.message
    .replace(/^\S+(?= failed| was paid|: )|job_\d+|(hold of|jobs that) \S+|sr1_\w+|\d+/g, "#")
    .slice(0, 110);
  const known = found.get(name);
  const text = [JSON.stringify({ ...options, plan: options.plan.plan.pipeline }), ...commands.map(String), log].join(
    "\n",
  );
  const shorter = known === undefined || text.length < known.log.length ? text : known.log;
  found.set(name, { count: (known?.count ?? 0) + 1, log: shorter });
});

for (let batch = shard; batch < batches; batch += shards) {
  const seed = Number(values.seed) * 1_000_000 + batch;
  const details = await fc.check(property, { numRuns: BATCH, seed });
  count += details.numRuns;
  if (details.failed) {
    failures++;
    console.log(`\nFAILED seed ${seed}\n${fc.defaultReportMessage(details)}\n${String(details.errorInstance)}`);
  }
  if (batch % 10 === shard) {
    const { user, system } = process.cpuUsage();
    const each = ((user + system) / 1000 / count).toFixed(1);
    console.log(`${new Date().toISOString()} ${count} lives, ${each} ms CPU each, ${failures} batches failed`);
  }
}
for (const [name, { count: times, log }] of [...found].sort((a, b) => b[1].count - a[1].count)) {
  console.log(`\n=== ${times} × ${name}\n${log}`);
}
console.log(`${count} lives, ${failures} batches failed`);
