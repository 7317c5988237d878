/** An engine process whose slices and local work never end: `node engine-process.ts <EngineSpec as JSON>`. */
import { type EngineSpec, openEngine } from "./engines.ts";

const engine = await openEngine(JSON.parse(process.argv[2]!) as EngineSpec);
const holds = (what: string) => {
  process.stdout.write(`${what}\n`);
  return new Promise<never>(() => {});
};
await engine.process(
  { slice: (runId) => holds(`slice ${runId}`), local: ({ of }) => holds(`local ${of}`) },
  { slices: 2, local: 2 },
);
process.stdout.write("ready\n");
