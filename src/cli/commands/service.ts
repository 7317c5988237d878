import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Client, FollowEvent, Voice } from "../../core/api/index.ts";
import {
  type CatalogChange,
  diffCatalogs,
  GENERATED,
  generateModels,
  pullCatalog,
  readSnapshot,
  writeSnapshot,
} from "../../core/catalog/index.ts";
import { type DocumentName, toDocument } from "../../core/kit/document.ts";
import { writeDurably } from "../../core/kit/files.ts";
import { suggest } from "../../core/kit/lookup.ts";
import { formatBytes } from "../../core/kit/value-text.ts";
import type { Catalog, Showrunner } from "../../index.ts";
import { CliError, ExitCode, usageError } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import { headOf } from "../input/named-file.ts";
import { inputSchema, readInput } from "../input/read-input.ts";
import { whileWorking } from "../live/watch.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import type { Flags, ServiceFlags } from "../program/flags.ts";
import { problemList } from "../report/warning-lines.ts";
import { visible, visibleError, visibleLines } from "../text/escape.ts";
import { counted, shorten, table } from "../text/table.ts";

/**
 * Opens the service for commands that only read its catalog. If the service publishes its catalog, no key is needed.
 */
function withCatalog<T>(flags: ServiceFlags, work: (show: Showrunner) => Promise<T>): Promise<T> {
  return withShowrunner(flags, work, { keyOptional: true });
}

const MOST = 1000;

export async function listModels(context: Context, flags: Flags["models list"]): Promise<void> {
  return withCatalog(flags, async ({ client }) => {
    const found = await some(client.models({ modality: flags.modality }), flags.limit ?? MOST);
    printList(context, found, ["id", "modality", "name", "price_description"]);
  });
}

export async function listVoices(context: Context, id: string, flags: Flags["models voices"]): Promise<void> {
  return withCatalog(flags, async ({ client }) => {
    const found = await (flags.search === undefined
      ? listed(client, id, flags, flags.limit ?? MOST)
      : searched(client, id, flags.search, flags));
    printList(context, found, ["id", "name", "labels"]);
  });
}

async function searched(
  client: Client,
  id: string,
  text: string,
  flags: Flags["models voices"],
): Promise<readonly Voice[]> {
  const { gender, language } = flags;
  const limit = Math.min(50, flags.limit ?? 50);
  try {
    return await client.searchVoices(id, { q: text, limit, gender, language });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return listed(client, id, { ...flags, search: text }, limit);
  }
}

/** Lists a model's voices and filters them on the client, because the service supports filters only in searches. */
async function listed(
  client: Client,
  id: string,
  { search = "", gender, language }: Flags["models voices"],
  limit: number,
): Promise<readonly Voice[]> {
  const fits = (label: unknown, wanted: string | undefined) =>
    wanted === undefined || String(label).toLowerCase().split(/[-_]/)[0] === wanted.toLowerCase();
  const found: Voice[] = [];
  for await (const voice of client.voices(id)) {
    const isNamed = search === "" || voice.name?.toLowerCase().includes(search.toLowerCase()) === true;
    if (!isNamed || !fits(voice.labels.gender, gender) || !fits(voice.labels.language, language)) continue;
    found.push(voice);
    if (found.length >= limit) break;
  }
  return found;
}

export async function showModel(context: Context, id: string, flags: Flags["models show"]): Promise<void> {
  return withCatalog(flags, async ({ client }) => {
    const model = await client.model(id).catch(async (error: unknown) => {
      throw isNotFound(error) ? await unknownModel(client, id, error) : error;
    });
    // The printed schema is shortened. Its description explains how fields combine.
    const words = model.inputSchema?.description;
    printOne(context, model, typeof words === "string" ? words : null);
  });
}

function isNotFound(error: unknown): error is Error {
  return error instanceof Error && "code" in error && error.code === "NOT_FOUND";
}

async function unknownModel(client: Client, id: string, cause: Error): Promise<CliError> {
  const known = (await some(client.models(), MOST)).map((model) => model.id);
  const [first, ...others] = suggest(id, known);
  const message = `Model ${visible(id)} does not exist`;
  const next = first === undefined ? "showrunner models list" : `showrunner models show ${first}`;
  const hint = first === undefined ? "" : `; did you mean ${[first, ...others].map(visible).join(" or ")}?`;
  return new CliError("USAGE", message + hint, { next, cause, exitCode: ExitCode.failed });
}

/** Writes the service's models to files. Keeps models that the service has removed, and marks them as retired. */
export async function pullModels(context: Context, flags: Flags["models pull"]): Promise<void> {
  const { io, output } = context;
  return withCatalog(flags, async ({ client }) => {
    const folder = resolve(io.cwd, flags.out ?? ".");
    const [snapshot, models] = [join(folder, "catalog.json"), join(folder, "models.ts")];
    const hasSnapshot = await isThereAndOwn(snapshot, (head) => SNAPSHOT.test(head));
    await isThereAndOwn(models, (head) => head.startsWith(GENERATED));
    const previous = hasSnapshot ? await readSnapshot(snapshot).catch(() => null) : null;
    const catalog = await whileWorking(context, "reading the catalog", (progress) => {
      const onProgress = (read: number, all: number) => progress(`reading the models one by one: ${read} of ${all}`);
      return pullCatalog(client, previous, { onProgress });
    });
    await mkdir(folder, { recursive: true });
    await writeSnapshot(snapshot, catalog);
    await writeDurably(models, generateModels(catalog));
    output.printJson({ ok: true });
    if (hasSnapshot && previous === null) {
      const lost = "the new file contains only models that the service still has";
      output.say(`${visible(snapshot)} was damaged and was replaced; ${lost}`);
    }
    output.say(`Wrote ${visible(snapshot)} and models.ts with ${counted(catalog.models().length, "model")}`);
  });
}

/** Matches the beginning of a catalog that `models pull` wrote, even if the rest is damaged. */
const SNAPSHOT = /^\s*\[\s*(?:\]|\{\s*"id":\s*"[^"]*",\s*"modality":)/;

/** Returns whether the file exists and is not empty. @throws CliError if `isOwn` does not recognize the file */
async function isThereAndOwn(file: string, isOwn: (head: string) => boolean): Promise<boolean> {
  const head = await headOf(file);
  if (head === "") return false;
  if (head !== null && isOwn(head)) return true;
  throw usageError(
    `${visible(file)} already exists and was not written by \`showrunner models pull\`, so nothing was written`,
    "showrunner models pull --out FOLDER   (or move the file)",
  );
}

export async function modelsDiff(
  context: Context,
  files: readonly string[],
  flags: Flags["models diff"],
): Promise<ExitCode> {
  const { io, output } = context;
  const before = await snapshot(flags.snapshot ?? "catalog.json", io.cwd);
  const compare = async (show: Showrunner) => {
    const after =
      flags.with === undefined ? await pullCatalog(show.client, before) : await snapshot(flags.with, io.cwd);
    const changes = diffCatalogs(before, after);
    const pipelines: Checked[] = [];
    for (const file of files) pipelines.push(await check(show, file, context, flags));
    output.printJson(toDocument({ changes, pipelines }));
    say(changes, pipelines, context);
    const broken = changes.filter(({ isBreaking }) => isBreaking).length;
    const wrong = pipelines.filter(({ ok }) => !ok);
    output.say(
      `${counted(changes.length, "change")}, ${broken} of them breaking${files.length > 0 ? `; ${counted(wrong.length, "broken pipeline")}` : ""}.`,
    );
    if (changes.length > 0) output.next("showrunner models pull   (writes the new catalog and its types)");
    return broken > 0 || wrong.length > 0 ? ExitCode.failed : ExitCode.done;
  };
  return withCatalog(flags, compare);
}

async function snapshot(file: string, cwd: string): Promise<Catalog> {
  try {
    return await readSnapshot(resolve(cwd, file));
  } catch (cause) {
    throw usageError(
      `no catalog to compare with: ${visibleError(cause)}`,
      "showrunner models pull   (writes catalog.json; to use another catalog, pass --snapshot FILE)",
      cause,
    );
  }
}

type Checked = Awaited<ReturnType<typeof check>>;

async function check(show: Showrunner, file: string, { io }: Context, flags: Flags["models diff"]) {
  const { pipeline } = await loadPipeline(file, io.cwd);
  const input = await readInput(flags, io, await inputSchema(pipeline));
  const created = await show.plan(pipeline, input);
  return { file, ok: created.ok, problems: created.ok ? [] : created.problems };
}

function say(changes: readonly CatalogChange[], pipelines: readonly Checked[], { output }: Context): void {
  let model = "";
  for (const change of changes) {
    if (change.model !== model) output.print(visible(change.model));
    ({ model } = change);
    const mark = change.isBreaking ? "BREAKS" : "      ";
    output.print(`  ${mark}  ${change.field === null ? "" : `${visible(change.field)}: `}${visible(change.message)}`);
  }
  for (const { file, ok, problems } of pipelines) {
    output.print(`${ok ? "ok    " : "BROKEN"}  ${visible(file)}`);
    if (!ok) output.print(problemList(problems));
  }
}

export function listJobs(context: Context, flags: Flags["jobs list"]): Promise<void> {
  return withShowrunner(flags, async ({ client }) => {
    const all = flags.model === undefined ? client.jobs() : client.modelJobs(flags.model);
    const jobs = await some(all, flags.limit ?? 20);
    printList(context, jobs, ["job_id", "model", "status", "cost", "created_at"]);
  });
}

export function getJob(context: Context, id: string, flags: Flags["jobs get"]): Promise<void> {
  return withShowrunner(flags, async ({ client }) => printOne(context, await client.job(id)));
}

export function followJob({ io, output }: Context, id: string, flags: Flags["jobs follow"]): Promise<void> {
  return withShowrunner(flags, async ({ client }) => {
    for await (const event of client.follow(id, { signal: io.interrupt })) {
      output.printJsonLine(toDocument(event));
      output.print(followText(event));
    }
  });
}

function followText(event: FollowEvent): string {
  switch (event.type) {
    case "status": {
      const { status, progress } = event.status;
      return `${visible(status)}${progress === null ? "" : ` ${Math.round(progress * 100)} %`}`;
    }
    case "log":
      return `  ${visible(event.log.event)}: ${visible(event.log.message)}`;
    case "switched":
      return `  now following by ${event.to}: ${visible(event.reason)}`;
    case "finished":
      return `${event.outcome}: ${counted(event.job.outputs.length, "output")}; for details: showrunner jobs get ${visible(event.job.jobId)}`;
    default:
      return event satisfies never;
  }
}

export function uploadFile(context: Context, path: string, flags: Flags["files upload"]): Promise<void> {
  return withShowrunner(flags, async ({ client }) => {
    const uploaded = await whileWorking(context, "reading", (progress) => {
      const onProgress = (sentBytes: number, totalBytes: number) =>
        progress(`uploaded ${formatBytes(sentBytes)} of ${formatBytes(totalBytes)}`);
      return client.upload({ path }, { onProgress });
    });
    printOne(context, uploaded);
  });
}

export function listText<Row extends object>(
  items: readonly Row[],
  fields: readonly DocumentName<keyof Row & string>[],
  width?: number,
): string {
  type Cells = Readonly<Record<string, unknown>>;
  const columns = fields.map((field) => ({ title: field, value: (row: Cells) => cell(row[field]), flexible: true }));
  return table(toDocument(items) as readonly Cells[], columns, width);
}

export function oneText(value: object): string {
  const entries = Object.entries(toDocument(value) as object);
  const wide = Math.max(0, ...entries.map(([key]) => key.length));
  return entries.map(([key, inner]) => `${visible(key).padEnd(wide)}  ${cell(inner)}`).join("\n");
}

const longest = 400;

function cell(value: unknown): string {
  if (value === null || value === undefined) return "–";
  return shorten(visible(typeof value === "object" ? JSON.stringify(value) : String(value)), longest);
}

function printList<Row extends object>(
  { io, output }: Context,
  items: readonly Row[],
  fields: readonly DocumentName<keyof Row & string>[],
): void {
  output.printJson(toDocument(items));
  if (items.length > 0) output.print(listText(items, fields, io.stdout.columns));
  else if (!output.isJson) output.say("Nothing found.");
}

function printOne({ output }: Context, value: object, text: string | null = null): void {
  output.result(toDocument(value), text === null ? oneText(value) : `${oneText(value)}\n\n${visibleLines(text)}`);
}

export async function some<T>(items: AsyncIterable<T>, most: number): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) {
    found.push(item);
    if (found.length >= most) break;
  }
  return found;
}
