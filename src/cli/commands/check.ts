import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { openSqliteJournal } from "../../core/engine/index.ts";
import { toDocument } from "../../core/kit/document.ts";
import { isPostgresUrl } from "../../core/kit/journal-location.ts";
import { dollars } from "../../core/kit/money.ts";
import { isRunFinal } from "../../core/view/index.ts";
import type { Drift, Showrunner } from "../../index.ts";
import { CliError, ExitCode, usageError } from "../cli-error.ts";
import { type Context, sayWhere, withShowrunner } from "../context.ts";
import { kindOf } from "../input/named-file.ts";
import { type LoadedPipeline, loadPipeline, pipelinesIn } from "../load/pipeline-file.ts";
import type { Flags } from "../program/flags.ts";
import { diffLines } from "../report/comparison.ts";
import { rerunTable } from "../report/price-table.ts";
import { problemList } from "../report/warning-lines.ts";
import { visible } from "../text/escape.ts";
import { counted, firstLines } from "../text/table.ts";

export async function check(context: Context, named: readonly string[], flags: Flags["check"]): Promise<ExitCode> {
  const { io, output } = context;
  const pipelines = await loadAll(named, context);
  const journal = await openToRead(flags.against, context);
  try {
    const work = async (show: Showrunner) => {
      sayWhere(show, context);
      const checked = await checkRuns(show, pipelines);
      output.printJson(toDocument({ ...checked, runs: checked.runs.map(({ drift: _, ...run }) => run) }));
      if (checked.runs.some(({ isSame }) => !isSame)) output.print(checkTable(checked, io.stdout.columns));
      return sayVerdict(checked, context);
    };
    return await withShowrunner(flags, work, { keyOptional: true, journal });
  } finally {
    await journal.close();
  }
}

function sayVerdict({ runs, others }: Checked, { output }: Context): ExitCode {
  const differ = runs.filter(({ isSame }) => !isSame);
  const left = others === 0 ? "" : ` Not checked: ${counted(others, "run")} of other pipelines.`;
  if (differ.length === 0) {
    const none = "These pipelines have no unfinished runs";
    const same = `Nothing changes: ${counted(runs.length, "unfinished run")} would continue as planned`;
    output.say(`${runs.length === 0 ? none : same}.${left}`);
    return ExitCode.done;
  }
  output.say(`${differ.length} of ${counted(runs.length, "unfinished run")} would change: ${totalOf(differ)}.${left}`);
  output.next(
    `let these runs finish with their old code, rename the changed pipeline, or accept the changes: showrunner resume ${visible(differ[0]!.id)} --file FILE --accept-changes`,
  );
  return ExitCode.failed;
}

async function loadAll(named: readonly string[], context: Context): Promise<readonly LoadedPipeline[]> {
  const { cwd } = context.io;
  const all: LoadedPipeline[] = [];
  for (const name of named) {
    if ((await kindOf(resolve(cwd, name))) === "folder") all.push(...(await pipelinesIn(name, context)));
    else all.push(await loadPipeline(name, cwd));
  }
  const byName = Map.groupBy(all, ({ pipeline }) => pipeline.name);
  for (const [name, loaded] of byName) {
    const files = [...new Set(loaded.map(({ file }) => file))];
    if (files.length < 2) continue;
    const message = `${files.map(visible).join(" and ")} each export a pipeline named ${visible(name)}`;
    throw usageError(message, "pass only one of these files: the one to compare the runs with");
  }
  if (all.length > 0) return all;
  throw new CliError("PIPELINE_NOT_FOUND", `No file in ${named.map(visible).join(", ")} exports a pipeline`, {
    next: "pass your pipeline files, or the folder that contains them: showrunner check --against JOURNAL pipelines",
  });
}

async function openToRead(against: string, { io }: Context) {
  if (isPostgresUrl(against)) {
    const next = "copy the unfinished runs to a journal file, and pass that file";
    throw usageError("--against needs a journal file, not a database", next);
  }
  const path = resolve(io.cwd, against);
  if (!existsSync(path)) {
    const next = "pass a journal file, or a copy: --against .showrunner/journal.db";
    throw usageError(`journal ${visible(against)} does not exist`, next);
  }
  return openSqliteJournal(path, { readOnly: true });
}

interface CheckedStep {
  readonly path: string;
  /** What happened to the step. `uses`: it uses a changed step. `gone`: it is no longer planned. */
  readonly cause: "changed" | "new" | "uses" | "gone";
  readonly fields: Drift["changed"][number]["fields"];
  /** Cost in micro-dollars. Null if the step has no price or does not run. */
  readonly costMicros: number | null;
}

type Checked = Awaited<ReturnType<typeof checkRuns>>;
type CheckedRun = Checked["runs"][number];

async function checkRuns(show: Showrunner, pipelines: readonly LoadedPipeline[]) {
  const byName = new Map(pipelines.map(({ pipeline }) => [pipeline.name, pipeline]));
  // The status can also be `interrupted`, which the journal does not store.
  const open = (await show.runs()).filter(({ status }) => !isRunFinal(status));
  const runs = [];
  for (const { runId, pipeline: name, status } of open) {
    const pipeline = byName.get(name);
    if (pipeline === undefined) continue;
    const drift = await show.drift(runId, pipeline, { anyAccount: true });
    const { problems, totalMicros } = drift;
    const steps = stepsOf(drift);
    const isSame = steps.length === 0 && problems.length === 0;
    runs.push({ id: runId, pipeline: name, status, isSame, steps, problems, totalMicros, drift });
  }
  return { runs, others: open.length - runs.length };
}

function stepsOf({ changed, added, removed, stale, prices }: Drift): readonly CheckedStep[] {
  const fields = new Map(changed.map((one) => [one.path, one.fields]));
  const isNew = new Set(added);
  const costs = new Map(prices.map(({ step, costMicros }) => [step, costMicros]));
  const again = stale.map((path): CheckedStep => {
    const cause = fields.has(path) ? "changed" : isNew.has(path) ? "new" : "uses";
    return { path, cause, fields: fields.get(path) ?? [], costMicros: costs.get(path) ?? null };
  });
  return [...again, ...removed.map((path): CheckedStep => ({ path, cause: "gone", fields: [], costMicros: null }))];
}

const MOST_RUNS = 50;
const MOST_STEPS = 20;

/** Lists the changes in each run whose plan would now be different, as `showrunner resume --file` would show them. */
function checkTable({ runs }: Checked, width?: number): string {
  const differ = runs.filter(({ isSame }) => !isSame);
  const changes = ({ id, pipeline, status, drift }: CheckedRun) => {
    const head = `${visible(id)} (${visible(pipeline)}, ${status})`;
    if (drift.problems.length > 0) return `${head}\n${problemList(drift.problems)}`;
    const prices = drift.prices.slice(0, MOST_STEPS);
    return [head, ...diffLines(drift).map((line) => `  ${line}`), rerunTable({ ...drift, prices }, width)].join("\n");
  };
  return firstLines(differ, MOST_RUNS, changes, "more runs").join("\n\n");
}

function totalOf(runs: readonly CheckedRun[]): string {
  const min = runs.reduce((sum, { totalMicros }) => sum + totalMicros.min, 0);
  const isOpen = runs.some(({ totalMicros, problems }) => totalMicros.max === null || problems.length > 0);
  return `${isOpen ? "at least " : ""}${dollars(min)} to run the changed and new steps`;
}
