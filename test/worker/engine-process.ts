/** A process of pg-boss's engine whose slices and local work never end: `node engine-process.ts <url> <schema>`. */
import { createPgBossEngine } from "../../src/pg-boss/index.ts";

const [connectionString = "", schema = ""] = process.argv.slice(2);
const engine = await createPgBossEngine({ connectionString, schema });
const holds = (what: string) => {
  process.stdout.write(`${what}\n`);
  return new Promise<never>(() => {});
};
await engine.process(
  { slice: (runId) => holds(`slice ${runId}`), local: ({ of }) => holds(`local ${of}`) },
  { slices: 2, local: 2 },
);
