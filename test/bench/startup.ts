/** How long what people wait for takes to start: imports of the built package beyond bare Node.js, and two commands. */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, statSync } from "node:fs";
import { join } from "node:path";
import { openShowrunner } from "../../src/index.ts";
import { layeredPipeline } from "./graph.ts";
import { inFolder, interleaved, pooled, type Report } from "./harness.ts";
import { startServer } from "./local-service-process.ts";

const root = join(import.meta.dirname, "../..");
const RUNS = 2_000;

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  build();
  await inFolder(async (folder) => {
    const service = await startServer();
    const journal = join(folder, "journal.db");
    await manyRuns(journal, quick ? 100 : RUNS);
    const env = { ...process.env, SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey };
    const node = (...args: string[]) => {
      const startedAt = performance.now();
      execFileSync(process.execPath, args, { cwd: root, env, stdio: ["ignore", "ignore", "pipe"] });
      return performance.now() - startedAt;
    };
    const importing = (name: string) => () => node("--input-type=module", "-e", `import ${JSON.stringify(name)}`);
    const command = (...args: string[]) => node(join(root, "bin", "showrunner.js"), ...args);
    const { bare, all, client, runs, plan } = await interleaved(quick ? 3 : 11, {
      bare: () => node("--input-type=module", "-e", ""),
      all: importing("showrunner"),
      client: importing("showrunner/client"),
      runs: () => command("runs", "--journal", journal),
      plan: () => command("plan", "recipes/image-to-video.ts", "--journal", journal),
    });
    const beyond = (samples: readonly number[]) => samples.map((sample, round) => sample - bare[round]!);
    report.figure("Start-up", "no envelope Node.js", "ms", bare);
    report.figure("Start-up", "import of showrunner, beyond bare", "ms", beyond(all), { most: 120 });
    report.figure("Start-up", "import of showrunner/client, beyond bare", "ms", beyond(client), { most: 60 });
    report.figure("Start-up", `showrunner runs, ${RUNS.toLocaleString("en")} in the journal`, "ms", runs, {
      most: 300,
    });
    report.figure("Start-up", "showrunner plan of a recipe, catalog warm", "ms", plan, { most: 500 });
    await service.stop();
  });
}

/** Users install what is built; it is built anew when a source is younger. */
function build(): void {
  const built = join(root, "dist", "index.js");
  const sources = globSync("{src,scripts}/**/*.{ts,tsx,json,css}", { cwd: root });
  const youngest = Math.max(...sources.map((file) => statSync(join(root, file)).mtimeMs));
  if (existsSync(built) && statSync(built).mtimeMs > youngest) return;
  execFileSync(process.execPath, [join(root, "scripts", "build.ts")], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
}

async function manyRuns(journal: string, count: number): Promise<void> {
  const showrunner = await openShowrunner({ journal, baseUrl: "http://127.0.0.1:9/v3", apiKey: "bench:none" });
  await pooled(count, 50, async () => {
    await (await showrunner.run(layeredPipeline, { steps: 2 }, { outDir: `${journal}.out` })).result();
  });
  await showrunner.close();
}
