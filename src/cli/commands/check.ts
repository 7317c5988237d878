import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isPostgresUrl } from "../../core/kit/journal-location.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import { type Context, sayWhere, withShowrunner } from "../context.ts";
import { type LoadedPipeline, loadPipeline } from "../load/pipeline-file.ts";
import { isFolder, pipelinesIn } from "../load/pipelines-in.ts";
import type { Flags } from "../program/flags.ts";
import { type Checked, checkRuns } from "../report/check-runs.ts";
import { checkTable, totalOf } from "../report/check-table.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";

/** `showrunner check`: what the code of now would make again, or differently, of runs that are under way. */
export async function check(context: Context, named: readonly string[], flags: Flags["check"]): Promise<ExitCode> {
  const { io, output } = context;
  const pipelines = await loadAll(named, context);
  const journal = await openToRead(flags.against, context);
  try {
    const options = { keyOptional: true, journal };
    return await withShowrunner(
      { ...flags, journal: undefined },
      async (show) => {
        sayWhere(show, context);
        const checked = await checkRuns(show, pipelines);
        if (flags.json) output.printJson(checked);
        else if (checked.runs.some(({ isSame }) => !isSame)) output.print(checkTable(checked, io.stdout.columns));
        return sayVerdict(checked, context);
      },
      options,
    );
  } finally {
    await journal.close();
  }
}

function sayVerdict({ runs, others }: Checked, { output }: Context): ExitCode {
  const differ = runs.filter(({ isSame }) => !isSame);
  const left = others === 0 ? "" : ` ${counted(others, "run")} of other pipelines not checked.`;
  if (differ.length === 0) {
    const none = "No run of these pipelines is under way";
    const same = `Nothing is made again: ${counted(runs.length, "run")} under way would continue as begun`;
    output.say(`${runs.length === 0 ? none : same}.${left}`);
    return ExitCode.done;
  }
  output.say(
    `${differ.length} of ${counted(runs.length, "run")} under way would not continue as begun: ${totalOf(differ)}.${left}`,
  );
  output.next(
    `let them end with the code they began with, give the changed pipeline another name, or accept it: showrunner resume ${visible(differ[0]!.runId)} --file FILE --accept-changes`,
  );
  return ExitCode.failed;
}

async function loadAll(named: readonly string[], context: Context): Promise<readonly LoadedPipeline[]> {
  const { cwd } = context.io;
  const all: LoadedPipeline[] = [];
  for (const name of named) {
    if (await isFolder(resolve(cwd, name))) all.push(...(await pipelinesIn(name, context)));
    else all.push(await loadPipeline(name, cwd));
  }
  const byName = Map.groupBy(all, ({ pipeline }) => pipeline.name);
  for (const [name, loaded] of byName) {
    const files = [...new Set(loaded.map(({ file }) => file))];
    if (files.length < 2) continue;
    throw new CliError("USAGE", `${files.map(visible).join(" and ")} both have a pipeline named ${visible(name)}`, {
      next: "name the one that runs are to be held against",
    });
  }
  if (all.length > 0) return all;
  throw new CliError("PIPELINE_NOT_FOUND", `${named.map(visible).join(", ")}: no file exports a pipeline`, {
    next: "name files, or the folder of your pipelines: showrunner check --against JOURNAL pipelines",
  });
}

async function openToRead(against: string, { io }: Context) {
  if (isPostgresUrl(against)) {
    throw new CliError("USAGE", "--against takes the file of a journal, and this is a database", {
      next: "copy its runs under way into a file, or check where the file is",
    });
  }
  const path = resolve(io.cwd, against);
  if (!existsSync(path)) {
    throw new CliError("USAGE", `there is no journal ${visible(against)}`, {
      next: "name one, or a copy of one: --against .showrunner/journal.db",
    });
  }
  const { openSqliteJournal } = await import("../../internal.ts");
  return openSqliteJournal(path, { readOnly: true });
}
