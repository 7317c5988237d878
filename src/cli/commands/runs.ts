import { listedTags, type RunRow, type Showrunner } from "../../internal.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, type ServiceFlags, withJournal } from "../context.ts";
import { tagsOf } from "../input/flag-values.ts";
import { visible } from "../text/escape.ts";
import { type Column, table } from "../text/table.ts";

/** Waiting runs that are listed with their command. */
const MOST_WAITING = 10;
/** Decisions whose commands are listed one by one. */
const MOST_COMMANDS = 3;

const columns: readonly Column<RunRow>[] = [
  { title: "run", value: (row) => visible(row.runId), flexible: true },
  { title: "title", value: ({ title }) => visible(title ?? ""), flexible: true },
  { title: "pipeline", value: (row) => visible(row.pipeline), flexible: true },
  { title: "status", value: (row) => row.status },
  { title: "tags", value: ({ tags }) => visible(listedTags(tagTexts(tags)).join(" ")), flexible: true },
  { title: "started", value: (row) => instant(row.createdAt) },
  { title: "last event", value: (row) => instant(row.updatedAt) },
];

export interface RunsFlags extends ServiceFlags {
  readonly tag?: readonly string[];
  readonly search?: string;
}

function tagTexts(tags: RunRow["tags"]): readonly string[] {
  return Object.entries(tags).map(([key, value]) => `${key}=${value}`);
}

/** `showrunner runs`: every run of the journal, newest first. */
export async function runs(context: Context, flags: RunsFlags): Promise<ExitCode> {
  const { io, output } = context;
  return withJournal(flags, async (show) => {
    const tags = tagsOf(flags.tag);
    const { search } = flags;
    const rows = await show.runs({ tags, search });
    // A column that is empty in every row says nothing.
    const shown = columns.filter(({ value }) => rows.some((row) => value(row) !== ""));
    if (flags.json) output.printJson(rows.map(document));
    else if (rows.length > 0) output.print(table(rows, shown, io.stdout.columns));
    const wanted = [...(search === undefined ? [] : [JSON.stringify(search)]), ...(tags ? tagTexts(tags) : [])];
    if (rows.length === 0 && wanted.length > 0) output.say(`No run with ${visible(wanted.join(" and "))}.`);
    else if (rows.length === 0) {
      output.say("No run yet.");
      output.next("showrunner init film.ts");
    }
    if (!flags.json) await sayWaiting(show, context, rows);
    return ExitCode.done;
  });
}

/** Runs that need an action of a person to continue, with that action. */
async function sayWaiting(show: Showrunner, { output }: Context, rows: readonly RunRow[]): Promise<void> {
  const waiting = rows.filter(({ status }) => status === "paused" || status === "interrupted");
  if (waiting.length === 0) return;
  output.say(`\n${waiting.length === 1 ? "1 run waits" : `${waiting.length} runs wait`} for you:`);
  const decisions: string[] = [];
  const commands: string[] = [];
  for (const { runId } of waiting.slice(0, MOST_WAITING)) {
    const { status, pause, next } = await show.show(runId);
    output.say(`  ${visible(runId)}  ${pause === null ? status : `paused (${pause.reason})`}`);
    if (next !== null) (pause?.reason === "approval" ? decisions : commands).push(visible(next.command));
  }
  if (waiting.length > MOST_WAITING) output.say(`  … and ${waiting.length - MOST_WAITING} more`);
  const list = "showrunner approve   (lists all decisions; showrunner dashboard has them under Review)";
  output.next(...(decisions.length > MOST_COMMANDS ? [list] : decisions), ...commands);
}

function document(row: RunRow): unknown {
  return {
    id: row.runId,
    pipeline: row.pipeline,
    title: row.title,
    status: row.status,
    tags: row.tags,
    created_at: new Date(row.createdAt).toISOString(),
    updated_at: new Date(row.updatedAt).toISOString(),
    events: row.lastSeq,
  };
}

function instant(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}
