import { resolve } from "node:path";
import type { CatalogChange } from "../../core/catalog/index.ts";
import { toDocument } from "../../core/kit/document.ts";
import type { Catalog, Problem, Showrunner } from "../../index.ts";
import { ExitCode, usageError } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import { inputSchema, readInput } from "../input/read-input.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import type { Flags } from "../program/flags.ts";
import { problemList } from "../report/warning-lines.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";

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
