import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Client, Voice } from "../../core/api/index.ts";
import type { CatalogChange } from "../../core/catalog/index.ts";
import { toDocument } from "../../core/kit/document.ts";
import { writeDurably } from "../../core/kit/files.ts";
import { suggest } from "../../core/kit/lookup.ts";
import type { Catalog, Problem, Showrunner } from "../../index.ts";
import { CliError, ExitCode, usageError } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import { headOf } from "../input/named-file.ts";
import { inputSchema, readInput } from "../input/read-input.ts";
import { whileWorking } from "../live/redraw.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import type { Flags } from "../program/flags.ts";
import { problemList } from "../report/warning-lines.ts";
import { limitOf, printList, printOne, some, withClient } from "../service/present.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";

const OPEN = { keyOptional: true };
const MOST = 1000;

const modalities = ["image", "video", "audio", "text"] as const;

export async function listModels(context: Context, flags: Flags["models list"]): Promise<ExitCode> {
  return withClient(flags, OPEN, async (client) => {
    const wanted = flags.modality;
    const modality = modalities.find((known) => known === wanted);
    if (modality === undefined && wanted !== undefined) {
      const [meant] = suggest(wanted, modalities);
      const hint = meant === undefined ? `use ${modalities.join(", ")}` : `did you mean ${meant}?`;
      const next = `showrunner models list --modality ${meant ?? modalities[0]}`;
      throw usageError(`--modality ${visible(wanted)} is not a modality; ${hint}`, next);
    }
    const found = await some(client.models({ modality }), limitOf(flags, MOST));
    printList(context, flags, found, ["id", "modality", "name", "price_description"]);
  });
}

export async function listVoices(context: Context, id: string, flags: Flags["models voices"]): Promise<ExitCode> {
  return withClient(flags, OPEN, async (client) => {
    const found = await (flags.search === undefined
      ? listed(client, id, flags, limitOf(flags, MOST))
      : searched(client, id, flags.search, flags));
    printList(context, flags, found, ["id", "name", "labels"]);
  });
}

async function searched(
  client: Client,
  id: string,
  text: string,
  flags: Flags["models voices"],
): Promise<readonly Voice[]> {
  const { gender, language } = flags;
  const limit = Math.min(50, limitOf(flags, 50));
  try {
    return await client.searchVoices(id, { q: text, limit, gender, language });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return listed(client, id, { ...flags, search: text }, limit);
  }
}

/** Filters the listed voices here, because the service filters only searches. */
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

export async function showModel(context: Context, id: string, flags: Flags["models show"]): Promise<ExitCode> {
  return withClient(flags, OPEN, async (client) => {
    const model = await client.model(id).catch(async (error: unknown) => {
      throw isNotFound(error) ? await unknownModel(client, id, error) : error;
    });
    // The printed schema is shortened. Its description explains how fields combine.
    const words = model.inputSchema?.description;
    printOne(context, flags, model, typeof words === "string" ? words : null);
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

/** Keeps models that the service has removed, and marks them as retired. */
export async function pullModels(context: Context, flags: Flags["models pull"]): Promise<ExitCode> {
  const { io, output } = context;
  return withClient(flags, OPEN, async (client) => {
    const { GENERATED, generateModels, pullCatalog, writeSnapshot } = await import("../../core/catalog/index.ts");
    const folder = resolve(io.cwd, flags.out ?? ".");
    const [snapshot, models] = [join(folder, "catalog.json"), join(folder, "models.ts")];
    const hasSnapshot = await isThereAndOwn(snapshot, (head) => SNAPSHOT.test(head));
    await isThereAndOwn(models, (head) => head.startsWith(GENERATED));
    const { previous, lost } = hasSnapshot ? await previousCatalog(snapshot) : { previous: null, lost: null };
    let progress = "reading the catalog";
    const onProgress = (read: number, all: number) => {
      progress = `reading the models one by one: ${read} of ${all}`;
    };
    const catalog = await whileWorking(context, pullCatalog(client, previous, { onProgress }), () => progress);
    await mkdir(folder, { recursive: true });
    await writeSnapshot(snapshot, catalog);
    await writeDurably(models, generateModels(catalog));
    if (flags.json) output.printJson({ ok: true });
    if (lost !== null) output.say(lost);
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

/** `lost` is the message to show if the previous catalog was damaged, otherwise null. */
async function previousCatalog(
  file: string,
): Promise<{ readonly previous: Catalog | null; readonly lost: string | null }> {
  const { readSnapshot } = await import("../../core/catalog/index.ts");
  try {
    return { previous: await readSnapshot(file), lost: null };
  } catch {
    const lost = `${visible(file)} was damaged and was replaced; models that the service no longer has are not in the new one`;
    return { previous: null, lost };
  }
}

interface Checked {
  readonly file: string;
  readonly ok: boolean;
  readonly problems: readonly Problem[];
}

export async function modelsDiff(
  context: Context,
  files: readonly string[],
  flags: Flags["models diff"],
): Promise<ExitCode> {
  const { io, output } = context;
  const { diffCatalogs, pullCatalog } = await import("../../core/catalog/index.ts");
  const before = await snapshot(flags.snapshot ?? "catalog.json", io.cwd);
  const compare = async (show: Showrunner) => {
    const after =
      flags.with === undefined ? await pullCatalog(show.client, before) : await snapshot(flags.with, io.cwd);
    const changes = diffCatalogs(before, after);
    const pipelines: Checked[] = [];
    for (const file of files) pipelines.push(await check(show, file, context, flags));
    if (flags.json) output.printJson(toDocument({ changes, pipelines }));
    else say(changes, pipelines, context);
    const broken = changes.filter(({ isBreaking }) => isBreaking).length;
    const wrong = pipelines.filter(({ ok }) => !ok);
    output.say(
      `${counted(changes.length, "change")}, ${broken} of them breaking${files.length > 0 ? `; ${counted(wrong.length, "broken pipeline")}` : ""}.`,
    );
    if (changes.length > 0) output.next("showrunner models pull   (writes the new catalog and its types)");
    return broken > 0 || wrong.length > 0 ? ExitCode.failed : ExitCode.done;
  };
  return withShowrunner(flags, compare, { keyOptional: true });
}

async function snapshot(file: string, cwd: string): Promise<Catalog> {
  const { readSnapshot } = await import("../../core/catalog/index.ts");
  try {
    return await readSnapshot(resolve(cwd, file));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw usageError(
      `no catalog to compare with: ${visible(why)}`,
      "showrunner models pull   (writes catalog.json; or pass another catalog with --snapshot FILE)",
      cause,
    );
  }
}

async function check(show: Showrunner, file: string, { io }: Context, flags: Flags["models diff"]): Promise<Checked> {
  const { pipeline } = await loadPipeline(file, io.cwd);
  const created = await show.plan(
    pipeline,
    await readInput(flags, io, { schema: await inputSchema(pipeline), tables: null }),
  );
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
