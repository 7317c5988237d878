/**
 * `npm run demo`: plans, prices and runs two recipes on a new local service. Exits with 1 if the costs in the table, the
 * wallet and the quotes differ. Writes to `.showrunner/demo`, or to the folder of `--dir`.
 */
import { statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { hostProcess } from "../src/cli/host-process.ts";
import { createOutput } from "../src/cli/io.ts";
import { watchRun } from "../src/cli/live/watch.ts";
import { loadPipeline } from "../src/cli/load/pipeline-file.ts";
import { priceTable } from "../src/cli/report/price-table.ts";
import { type Column, table } from "../src/cli/text/table.ts";
import { formatDuration } from "../src/core/kit/duration.ts";
import { dollars, parseUsd } from "../src/core/kit/money.ts";
import { ownVersion } from "../src/core/kit/own-version.ts";
import { openShowrunner, type Quote, type RunDocument, type Showrunner } from "../src/index.ts";
import { startLocalService } from "../src/local-service/index.ts";
import { writeReport } from "../src/studio/dashboard/index.ts";

const root = join(import.meta.dirname, "..");
const { values: flags } = parseArgs({
  options: { dir: { type: "string", default: join(root, ".showrunner", "demo") } },
});
const folder = resolve(flags.dir);
const recipes = ["image-to-video", "talking-avatar"];

interface Row {
  readonly step: string;
  readonly job: string;
  readonly costMicros: number | null;
  readonly ms: number | null;
  readonly file: string;
}

interface Act {
  readonly quote: Quote;
  readonly report: RunDocument;
  /** Number of API requests of the run, without those for pricing it. */
  readonly requests: number;
}

const columns: readonly Column<Row>[] = [
  { title: "step", value: ({ step }) => step },
  { title: "job", value: ({ job }) => job },
  { title: "cost", value: ({ costMicros }) => (costMicros === null ? "–" : dollars(costMicros)), align: "right" },
  { title: "time", value: ({ ms }) => (ms === null ? "–" : formatDuration(ms)), align: "right" },
  { title: "file", value: ({ file }) => file },
];

const io = hostProcess();
const output = createOutput(io);
const began = performance.now();

await rm(folder, { recursive: true, force: true });
const service = await startLocalService({ dataDir: join(folder, "service"), balance: 25 });
output.say(`Local service on ${service.baseUrl}: real pictures, sound and video, play money.`);
const show = await openShowrunner({
  baseUrl: service.baseUrl,
  apiKey: service.apiKey,
  journal: join(folder, "journal.db"),
  mediaDir: join(folder, "media"),
});

try {
  const acts: Act[] = [];
  for (const recipe of recipes) acts.push(await perform(show, recipe));
  const { charged_micros: charged, refunded_micros: refunded } = service.stats();
  process.exitCode = finishRun(acts, charged - refunded, show.requests().total) ? 0 : 1;
  const pages = await Promise.all(acts.map(({ report }) => reportFile(show, report.id)));
  output.print(`\nReports with the media, to open in a browser:\n  ${pages.join("\n  ")}`);
  output.print(`\nTo see all runs in the browser, with players, graphs and prices:`);
  output.print(`  npx showrunner dashboard --journal ${relative(process.cwd(), join(folder, "journal.db"))}`);
} finally {
  await show.close();
  await service.close();
}

async function reportFile(runner: Showrunner, runId: string): Promise<string> {
  const { file } = await writeReport(runner, runId, {
    file: join(folder, runId, "report.html"),
    mediaDir: join(folder, "media"),
    writtenAt: Date.now(),
    version: ownVersion(),
  });
  return relative(process.cwd(), file);
}

/** Prices a recipe, runs it and shows its progress. */
async function perform(runner: Showrunner, recipe: string): Promise<Act> {
  const { pipeline } = await loadPipeline(join(root, "recipes", `${recipe}.ts`), root);
  output.say(`\n${output.paint("bold", recipe)}\n`);
  const quote = await runner.quote(pipeline, {});
  if (!quote.ok) throw new Error(quote.problems.map(({ message }) => message).join("\n"));
  output.say(`${priceTable(quote, io.stderr.columns)}\n`);
  const planned = runner.requests().total;
  const handle = await runner.run(pipeline, {}, { id: recipe, budget: "20.00", outDir: join(folder, recipe) });
  await watchRun(handle.events(), io, output);
  const { status, report } = await handle.result();
  if (status !== "succeeded") throw new Error(`${recipe} ${status}; for details: npx showrunner show ${recipe}`);
  return { quote, report, requests: runner.requests().total - planned };
}

/** Prints the table and the checks; returns whether all succeeded. `walletMicros`: what the service charged. */
function finishRun(acts: readonly Act[], walletMicros: number, requests: number): boolean {
  const rows = acts.flatMap(({ report }) => report.steps.map((step) => rowOf(step, report)));
  output.print(`\n${table(rows, columns)}\n`);

  const jobs = rows.filter(({ costMicros }) => costMicros !== null);
  const spent = sum(jobs.map(({ costMicros }) => costMicros ?? 0));
  const running = sum(acts.map((act) => act.requests));
  const perJob = running / jobs.length;
  const checks = [
    [`table ${dollars(spent)} = wallet ${dollars(walletMicros)}`, spent === walletMicros],
    ...acts.map((act): [string, boolean] => quoteCheck(act)),
    ["one PNG, one WAV or MP3, two MP4s", hasEveryKind(rows.map(({ file }) => file))],
    [`finished after ${formatDuration(performance.now() - began)}`, true],
  ] as const;
  for (const [text, holds] of checks) output.print(`${holds ? "ok  " : "FAIL"}  ${text}`);
  // Not a check, because slower jobs on a busy machine need more requests.
  output.print(
    `      ${running} requests while ${jobs.length} jobs ran: ${perJob.toFixed(1)} per job (and ${requests - running} to plan and price)`,
  );
  return checks.every(([, holds]) => holds);
}

/** Checks that each step cost what was quoted: at the start or, without its media, right before it was submitted. */
function quoteCheck({ quote, report }: Act): [string, boolean] {
  const paid = report.steps.filter(({ quote: quoted }) => quoted !== null);
  const cost = sum(paid.map((step) => costOf(step) ?? 0));
  const quoted = sum(paid.map((step) => microsOf(step.quote)));
  const same = paid.every((step) => costOf(step) === microsOf(step.quote));
  const early = quote.prices.filter(({ basis }) => basis === "quoted");
  const isUnchanged = early.every(
    ({ step, costMicros }) => costMicros === costOf(report.steps.find(({ path }) => path === step)),
  );
  const first = quote.totalMicros.max === null ? "" : `, ${dollars(quote.totalMicros.max)} before the start`;
  return [`${report.pipeline}: cost ${dollars(cost)} = quote ${dollars(quoted)}${first}`, same && isUnchanged];
}

function microsOf(amount: string | null): number {
  return amount === null ? 0 : (parseUsd(amount) ?? Number.NaN);
}

function rowOf(step: RunDocument["steps"][number], report: RunDocument): Row {
  const { started_at: startedAt, finished_at: finishedAt, attempts, outputs } = step;
  return {
    step: `${report.pipeline}/${step.path}`,
    job: attempts.at(-1)?.job_id ?? "–",
    costMicros: costOf(step),
    ms: startedAt === null || finishedAt === null ? null : Date.parse(finishedAt) - Date.parse(startedAt),
    file: outputs
      .map(({ file, voice_id }) => (file ? relative(root, join(report.out_dir, file)) : (voice_id ?? "–")))
      .join(", "),
  };
}

function costOf(step: RunDocument["steps"][number] | undefined): number | null {
  const costs = step?.attempts.flatMap(({ cost }) => (cost === null ? [] : [microsOf(cost)])) ?? [];
  return costs.length > 0 ? sum(costs) : null;
}

function hasEveryKind(files: readonly string[]): boolean {
  const count = (ending: RegExp) =>
    files.filter((file) => ending.test(file) && statSync(join(root, file)).size > 0).length;
  return count(/\.png$/) >= 1 && count(/\.(wav|mp3)$/) >= 1 && count(/\.mp4$/) >= 2;
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
