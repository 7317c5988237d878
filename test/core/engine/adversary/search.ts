/**
 * The long search: `npm run search -- --runs 200000 --seed 1 [--shard 0/2] [--tally]`. Each batch has its own seed, and
 * a failed batch does not stop the search. `--tally` counts violations instead of shrinking them, and prints the seed
 * and run with which `--replay SEED:RUN` repeats a life.
 */
import { registerHooks } from "node:module";
import { parseArgs } from "node:util";
import fc from "fast-check";
import type { Command } from "./commands.ts";
import type { SimWorld, WorldOptions } from "./sim-world.ts";

const BATCH = 500;
/** What `files-in-memory.ts` replaces in tests: modules of `src/core` and the exports whose stand-ins are in the second file. */
const standIns = {
  "api/files/part-file.ts": ["./sim-media.ts", "openPart"],
  "engine/media/open-file.ts": ["./sim-fetch.ts", "fetchFile"],
  "engine/media/media-reader.ts": ["./sim-measure.ts", "damageOf", "measureMedia"],
} as const;
const source = new Map(
  Object.entries(standIns).map(([path, [file, ...names]]) => {
    const url = import.meta.resolve(`../../../../src/core/${path}`);
    const original = JSON.stringify(`${url}?original`);
    const stands = JSON.stringify(import.meta.resolve(file));
    return [url, `export * from ${original}; export { ${names.join(", ")} } from ${stands};`];
  }),
);
const library = import.meta.resolve("../../../../src/index.ts");
registerHooks({
  resolve: (specifier, context, next) =>
    // As the tests' settings have it.
    specifier === "showrunner" ? { url: library, shortCircuit: true } : next(specifier, context),
  load(url, context, next) {
    const stands = source.get(url);
    return stands === undefined ? next(url, context) : { source: stands, format: "module", shortCircuit: true };
  },
});

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "200000" },
    seed: { type: "string", default: "1" },
    shard: { type: "string", default: "0/1" },
    tally: { type: "boolean", default: false },
    replay: { type: "string" },
  },
});
const { live, livesOf } = await import("./life.ts");
const { simPlans } = await import("./plans.ts");
const lives = livesOf(await simPlans());
const firstSeed = Number(values.seed) * 1_000_000;
const [shard, shards] = values.shard.split("/").map(Number) as [number, number];
const batches = Math.ceil(Number(values.runs) / BATCH);
const found = new Map<string, { count: number; log: string }>();
let count = 0;
let failures = 0;

if (values.replay !== undefined) {
  const [seed, run] = values.replay.split(":").map(Number) as [number, number];
  const [options, commands] = fc.sample(lives, { seed, numRuns: run }).at(-1)!;
  const world = await live(options, commands);
  console.log(lifeText(options, commands, world));
  process.exit(world.broken === null ? 0 : 1);
}
for (let batch = shard; batch < batches; batch += shards) {
  const seed = firstSeed + batch;
  let run = 0;
  const property = fc.asyncProperty(lives, async ([options, commands]) => {
    run++;
    const world = await live(options, commands);
    if (world.broken === null) return;
    if (!values.tally) throw new Error(logText(world));
    const name = world.broken.message
      .replace(/^\S+(?= failed| was paid|: )|job_\d+|(hold of|jobs that) \S+|sr1_\w+|\d+/g, "#")
      .slice(0, 110);
    const known = found.get(name);
    console.log(`--replay ${seed}:${run}  ${world.broken.message}`);
    const text = `--replay ${seed}:${run}\n${lifeText(options, commands, world)}`;
    const shorter = known === undefined || text.length < known.log.length ? text : known.log;
    found.set(name, { count: (known?.count ?? 0) + 1, log: shorter });
  });
  const details = await fc.check(property, { numRuns: BATCH, seed });
  count += details.numRuns;
  if (details.failed) {
    failures++;
    console.log(`\nFAILED seed ${seed}\n${fc.defaultReportMessage(details)}\n${String(details.errorInstance)}`);
  }
  if (batch % 10 === shard) {
    const { user, system } = process.cpuUsage();
    const each = ((user + system) / 1000 / count).toFixed(1);
    const broken = [...found.values()].reduce((sum, { count: times }) => sum + times, 0);
    console.log(
      `${new Date().toISOString()} ${count} lives, ${each} ms CPU each, ${failures} batches failed, ${broken} broken`,
    );
  }
}
for (const [name, { count: times, log }] of [...found].sort((a, b) => b[1].count - a[1].count)) {
  console.log(`\n=== ${times} × ${name}\n${log}`);
}
const broken = [...found.values()].reduce((sum, { count: times }) => sum + times, 0);
console.log(`${count} lives, ${failures} batches failed, ${broken} broken`);

function lifeText(options: WorldOptions, commands: readonly Command[], world: SimWorld): string {
  const worldText = JSON.stringify({ ...options, plan: options.plan.plan.pipeline });
  return [worldText, ...commands.map(String), logText(world)].join("\n");
}

function logText({ broken, log }: SimWorld): string {
  return `${broken?.message ?? "nothing is broken"}\n${log.join("\n")}`;
}
