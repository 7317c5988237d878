import { hash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { pullCatalog, readSnapshot, snapshotText, withFamilies } from "../../core/catalog/index.ts";
import { chooseService } from "../../core/kit/deployments.ts";
import { toDocument } from "../../core/kit/document.ts";
import { writeDurably } from "../../core/kit/files.ts";
import { loadLocalService } from "../../core/kit/load-local-service.ts";
import {
  type Catalog,
  createClient,
  createMemoryJournal,
  openShowrunner,
  type Pipeline,
  readFamilies,
} from "../../index.ts";
import {
  type Decision,
  DecisionsFileError,
  estimateMigration,
  formatDecisions,
  lossesOf,
  type Migration,
  type MigrationDecisions,
  type MigrationReport,
  migrateV2File,
  parseDecisions,
  sampleInput,
  verifyMigration,
  writeMigration,
} from "../../migrate/index.ts";
import { ExitCode, usageError } from "../cli-error.ts";
import { type Context, familiesFileOf } from "../context.ts";
import { readNamed } from "../input/named-file.ts";
import { whileWorking } from "../live/watch.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { counted, firstLines } from "../text/table.ts";
import { some } from "./service.ts";

export async function migrate(context: Context, file: string, flags: Flags["migrate"]): Promise<ExitCode> {
  const { io, output } = context;
  const { service, baseUrl } = flags;
  const before = await readDecisions(context, flags.decisions);
  const decided = { ...before, map: { ...before.map, ...readMap(flags.map ?? []) } };
  const folder = resolve(io.cwd, flags.out);
  const named = familiesFileOf(io, flags);
  const families = readFamilies(named);
  const given = flags.catalog === undefined ? null : await readSnapshot(resolve(io.cwd, flags.catalog));
  const target = await openTarget(chooseService(flags, io.env) && { service, baseUrl }, given, named);
  try {
    const catalog = withFamilies(given ?? (await pullCatalog(target.show.client, null)), families);
    const work = { context, path: resolve(io.cwd, file), catalog, decided, target };
    const { decisions: now, ...created } = await migrated(work);
    let { migration } = created;
    if (flags.decisions !== undefined || now !== decided)
      await keepDecisions(context, { named: flags.decisions, before, now });
    await refuseEdited(migration, folder, flags);
    await writeMigration(folder, migration, catalog);
    if (migration.source !== null) {
      const { pipeline } = await loadPipeline(join(folder, "pipeline.ts"), io.cwd);
      migration = await priced(migration, { pipeline, target, context });
      if (flags.verify) migration = await verified(migration, { pipeline, catalog, target, context });
    }
    const files = await writeMigration(folder, migration, catalog);
    output.printJson(toDocument(migration.report));
    for (const path of files) output.print(visible(relative(io.cwd, path) || path));
    return finishRun(migration.report, context, relative(io.cwd, folder) || ".");
  } finally {
    await target.close();
  }
}

function readMap(entries: readonly string[]): { readonly [v2: string]: string } {
  return Object.fromEntries(
    entries.map((entry) => {
      const [, from, to] = /^([^=]+)=(.+)$/.exec(entry) ?? [];
      if (from !== undefined && to !== undefined) return [from.trim(), to.trim()];
      const next = "write it as --map vendor/name=model-id";
      throw usageError(`--map ${visible(entry)} is not V2=V3`, next);
    }),
  );
}

interface Work {
  readonly context: Context;
  readonly path: string;
  readonly catalog: Catalog;
  readonly decided: MigrationDecisions;
  readonly target: VerificationTarget;
}

async function migrated({ context, path, catalog, decided, target }: Work) {
  refuseUnknown(decided.map, catalog);
  const first = await migrateV2File(path, { catalog, ...decided }).catch(refuseUnreadable);
  const voices = await voicesFor(first.report, target);
  const hasVoices = Object.keys(voices).length > 0;
  const migration = hasVoices ? await migrateV2File(path, { catalog, ...decided, voices }) : first;
  const { map, leaveOut } = await askOpen(migration.report.decisions, context);
  if (Object.keys(map).length + leaveOut.length === 0) return { migration, decisions: decided };
  const decisions = { map: { ...decided.map, ...map }, leaveOut: [...decided.leaveOut, ...leaveOut] };
  return { migration: await migrateV2File(path, { catalog, voices, ...decisions }), decisions };
}

function refuseUnreadable(error: Error & { readonly code?: unknown }): never {
  if (error.code !== "V2_FILE") throw error;
  throw usageError(visible(error.message), "showrunner migrate V2-FILE --out FOLDER", error);
}

const MOST_HOSTED_ESTIMATES = 200;

type Voices = { readonly [model: string]: readonly { readonly id: string; readonly name: string | null }[] };

const MOST_VOICES = 20;

async function voicesFor({ steps, inputs }: MigrationReport, { show }: VerificationTarget): Promise<Voices> {
  if (!inputs.some(({ is }) => is === "voice")) return {};
  const models = [...new Set(steps.filter(({ yields }) => yields === "audio").map(({ model }) => model))];
  const listed = models.map(async (model) => {
    // Without a list of voices, the choice stays open.
    const voices = await some(show.client.voices(model, { limit: MOST_VOICES }), MOST_VOICES).catch(() => []);
    return [model, voices.map(({ id, name }) => ({ id, name }))] as const;
  });
  return Object.fromEntries(await Promise.all(listed));
}

async function sampleFor({ report }: Migration, target: VerificationTarget) {
  const [voice] = Object.values(await voicesFor(report, target)).flat();
  const { folder } = target;
  return sampleInput(report.inputs, { folder, voice: voice?.id ?? "voice_00000000-0000-4000-8000-000000000000" });
}

function refuseUnknown(map: { readonly [v2: string]: string }, catalog: Catalog): void {
  for (const [from, to] of Object.entries(map)) {
    if (to.startsWith("voice_") || catalog.model(to)?.state === "live") continue;
    const next = "showrunner models list   (to map a voice: --map V2-VOICE-ID=voice_…)";
    throw usageError(`--map ${visible(from)}=${visible(to)}: the catalog has no model ${visible(to)}`, next);
  }
}

async function refuseEdited(migration: Migration, folder: string, flags: Flags["migrate"]): Promise<void> {
  const path = join(folder, "pipeline.ts");
  const existing = await readFile(path, "utf8").catch(() => null);
  if (existing === null || existing === migration.source || flags.force) return;
  const report = await readFile(join(folder, "report.json"), "utf8").catch(() => "");
  if (report.includes(`"source_sha256": "${hash("sha256", existing)}"`)) return;
  const next = "choose another --out, or overwrite the file with --force";
  throw usageError(`${visible(path)} has been edited since it was generated`, next);
}

interface Written {
  readonly pipeline: Pipeline;
  readonly target: VerificationTarget;
  readonly context: Context;
}

async function priced(migration: Migration, { pipeline, target, context }: Written): Promise<Migration> {
  const { show, name: service } = target;
  const { bodies, steps } = migration.report;
  context.output.say(
    `Read ${counted(bodies.length, "request body", "request bodies")}; asking ${service} for the price of ${counted(steps.length, "job")}.`,
  );
  const input = await sampleFor(migration, target);
  const maxJobs = target.isHosted ? MOST_HOSTED_ESTIMATES : undefined;
  return estimateMigration(migration, show, { pipeline, service, input, maxJobs });
}

async function verified(
  migration: Migration,
  { pipeline, catalog, target, context }: Written & { readonly catalog: Catalog },
): Promise<Migration> {
  const own = target.isHosted ? await openTarget(null, catalog) : null;
  const { show, folder: scratch } = own ?? target;
  try {
    const input = await sampleFor(migration, own ?? target);
    const { interrupt: signal } = context.io;
    const jobs = counted(migration.report.steps.length, "job");
    const outDir = join(scratch, "out");
    return await whileWorking(context, `running ${jobs} on a local service to compare the results`, (progress) =>
      verifyMigration(migration, show, {
        ...{ pipeline, input, outDir, signal },
        onProgress: ({ done, total }) => progress(`running on a local service: ${done} of ${total} steps done`),
      }),
    );
  } finally {
    await own?.close();
  }
}

function finishRun(report: MigrationReport, { output }: Context, folder: string): ExitCode {
  const { bodies, problems, decisions, steps, verification } = report;
  const migratedCount = bodies.filter(({ status }) => status === "migrated").length;
  const lost = lossesOf(report);
  const open = bodies.filter(({ status }) => status === "open").length + lost.length;
  const sayFirst = (lines: readonly string[]) => {
    for (const line of firstLines(lines, 20, visible, "more in report.md")) output.say(line);
  };
  const where = (line: number | null, column: number | null) =>
    line === null ? "" : ` (line ${line}, column ${column})`;
  sayFirst(problems.map(({ at, line, column, message }) => `${at}${where(line, column)}: ${message}`));
  sayFirst(lost.map((one) => `open: ${one}`));
  output.say(
    `${counted(migratedCount, "body", "bodies")} migrated to ${counted(steps.length, "job")}, ${open} open, ${counted(problems.length, "problem")}, ${counted(decisions.length, "decision")}.`,
  );
  if (report.price?.min != null)
    output.say(
      `Price: ${report.price.max === null ? "at least " : ""}$${report.price.min}, from ${report.price.service}.`,
    );
  if (verification?.ok) output.say("Verified: the outputs match what v2 would produce.");
  else if (verification !== null) output.say(`Not verified: ${verification.differences.map(visible).join("; ")}`);
  const at = visible(folder);
  output.next(`read ${at}/report.md${steps.length === 0 ? "" : `, then: showrunner plan ${at}/pipeline.ts`}`);
  if (steps.length === 0) return ExitCode.refused;
  if (verification?.ok === false && (open === 0 || verification.status !== "succeeded")) return ExitCode.failed;
  return problems.length + open > 0 ? ExitCode.unfinished : ExitCode.done;
}

const DEFAULT_FILE = "migrate.decisions.json";

async function readDecisions({ io }: Context, named: string | undefined): Promise<MigrationDecisions> {
  const file = named ?? DEFAULT_FILE;
  try {
    return parseDecisions((await readNamed(resolve(io.cwd, file))).toString(), file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { map: {}, leaveOut: [] };
    const next = "correct the file, or use another file: --decisions FILE";
    if (error instanceof DecisionsFileError) throw usageError(visible(error.message), next, error);
    const { message } = error as Error;
    throw usageError(`${visible(file)} cannot be read: ${visible(message)}`, next, error);
  }
}

async function keepDecisions(
  { io, output }: Context,
  { named, before, now }: { named: string | undefined; before: MigrationDecisions; now: MigrationDecisions },
): Promise<void> {
  const file = named ?? DEFAULT_FILE;
  if (formatDecisions(before) === formatDecisions(now)) return;
  await writeDurably(resolve(io.cwd, file), formatDecisions(now));
  output.say(`Stored the decisions in ${visible(file)} for the next migration.`);
}

async function askOpen(decisions: readonly Decision[], { io, output }: Context): Promise<MigrationDecisions> {
  const map: [string, string][] = [];
  const leaveOut: string[] = [];
  const { ask } = io;
  if (ask === null) return { map: {}, leaveOut };
  const asked = new Set<string>();
  for (const { answer: requested, where, question, choices: offered } of decisions) {
    if (requested === null || asked.has(requested.key)) continue;
    const { about, key } = requested;
    asked.add(key);
    output.say(visible(`${where[0]}: ${question}`));
    if (about === "loss") {
      const answer = await ask("leave it out? (y, or press Enter to decide later): ");
      if (/^y(?:es)?$/i.test(answer.trim())) leaveOut.push(key);
      continue;
    }
    // For a voice, the first choice is to decide when the pipeline runs, so this choice is skipped. Names in
    // parentheses are not part of an id.
    const choices = offered.slice(about === "voice" ? 1 : 0).map((choice) => choice.replace(/ \(.*\)$/, ""));
    for (const [index, choice] of choices.entries()) output.say(`  ${index + 1}  ${visible(choice)}`);
    const hint =
      about === "model" ? "number or id, or press Enter for the first" : "number or id, or press Enter to decide later";
    const answer = (await ask(`${about} (${hint}): `)).trim();
    const chosen = /^\d+$/.test(answer) ? choices[Number(answer) - 1] : answer;
    const stored = chosen || (about === "model" ? choices[0] : "");
    if (stored) map.push([key, stored]);
  }
  return { map: Object.fromEntries(map), leaveOut };
}

const NO_LIMIT = { requests: 1_000_000, windowMs: 1000 };
const PLAY_MONEY_USD = 1_000_000;

type VerificationTarget = Awaited<ReturnType<typeof openTarget>>;
type Hosted = Pick<Flags["migrate"], "service" | "baseUrl">;

/**
 * Opens the service on which a migration is verified or priced: the hosted one if given, otherwise a local one with the
 * models of `catalog` (default: the built-in models). `close` removes the temporary folder.
 */
async function openTarget(hosted: Hosted | null, catalog: Catalog | null, families?: string) {
  const folder = await mkdtemp(join(tmpdir(), "showrunner-migrate-"));
  const local = hosted === null ? await startLocal(folder, catalog, families) : null;
  const options = { ...(local === null ? hosted : { client: local.client }), families };
  const show = await openShowrunner({ ...options, journal: createMemoryJournal(), mediaDir: join(folder, "media") });
  const close = async () => {
    await show.close();
    await local?.client.close();
    await local?.service.close();
    await rm(folder, { recursive: true, force: true });
  };
  const prices = catalog === null ? "its own models and prices" : "guessed prices";
  const name = hosted === null ? `the local service (${prices})` : show.service.baseUrl;
  return { show, isHosted: hosted !== null, name, folder, close };
}

async function startLocal(folder: string, catalog: Catalog | null, families: string | undefined) {
  const { startLocalService } = await loadLocalService();
  const service = await startLocalService({
    dataDir: join(folder, "service"),
    renderer: "stub",
    balance: PLAY_MONEY_USD,
    rateLimit: NO_LIMIT,
    ...(catalog !== null && { catalog: servable(catalog) }),
    ...(families !== undefined && { families }),
  });
  return { service, client: createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey }) };
}

function servable(catalog: Catalog): readonly unknown[] {
  const entries = JSON.parse(snapshotText(catalog)) as readonly { readonly state?: string }[];
  return entries.filter(({ state }) => state === undefined);
}
