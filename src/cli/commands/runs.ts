import { formatAgo, MINUTE_MS } from "../../core/kit/duration.ts";
import { dollars } from "../../core/kit/money.ts";
import { BATCH_TAG, listedTags, tagText, tagTexts } from "../../core/kit/tags.ts";
import { shellWord } from "../../core/kit/value-text.ts";
import { type RunRow, runLine } from "../../core/view/index.ts";
import type { Showrunner } from "../../index.ts";
import { type Context, withJournal } from "../context.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { commandLine } from "../text/next-line.ts";
import { type Column, counted, table } from "../text/table.ts";

const MOST_WAITING = 10;
const MOST_COMMANDS = 3;

/** Maximum number of runs listed per batch, unless `--tag` is set. */
const MOST_ROWS = 20;

interface Listed {
  readonly row: RunRow;
  readonly isMember: boolean;
}

/** Columns of the list of runs. The run's id is never shortened, because users copy it into other commands. */
const runColumns = (now: number): readonly Column<Listed>[] => [
  { title: "run", value: ({ row, isMember }) => `${isMember ? "  " : ""}${visible(row.runId)}` },
  { title: "status", value: ({ row }) => row.status },
  { title: "started", value: ({ row }) => formatAgo(row.createdAt, now) },
  { title: "title", value: ({ row }) => visible(row.title ?? ""), flexible: true, optional: true },
  { title: "pipeline", value: ({ row }) => visible(row.pipeline), flexible: true, optional: true },
  {
    title: "tags",
    value: ({ row }) => visible(listedTags(tagTexts(row.tags)).join(" ")),
    flexible: true,
    optional: true,
  },
  { title: "last event", value: ({ row }) => formatAgo(row.updatedAt, now), optional: true },
];

export async function runs(context: Context, flags: Flags["runs"]): Promise<void> {
  const { io, output } = context;
  return withJournal(flags, async (show) => {
    const { search, tag: tags } = flags;
    const rows = await show.runs({ tags, search });
    output.printJson(
      rows.map((row) => ({ ...runLine(row), tags: row.tags, updated_at: new Date(row.updatedAt).toISOString() })),
    );
    if (rows.length > 0 && !output.isJson)
      output.tell(await listing(show, rows, { width: io.stdout.columns, all: tags !== undefined }));
    const wanted = [...(search === undefined ? [] : [JSON.stringify(search)]), ...(tags ? tagTexts(tags) : [])];
    if (rows.length === 0 && wanted.length > 0) output.say(`No runs with ${visible(wanted.join(" and "))}.`);
    else if (rows.length === 0) {
      output.say("No runs yet.");
      output.next("showrunner init film.ts");
    }
    if (!output.isJson) await sayWaiting(show, context, rows);
  });
}

async function listing(
  show: Showrunner,
  rows: readonly RunRow[],
  { width, all }: { readonly width: number | undefined; readonly all: boolean },
): Promise<string> {
  const groups = [...Map.groupBy(rows, ({ runId, tags }) => (tags[BATCH_TAG] === undefined ? runId : batchTag(tags)))];
  /** The table's rows and the lines of text around them, in order. */
  const entries: (Listed | string)[] = [];
  for (const [tag, members] of groups) {
    const isMember = members[0]!.tags[BATCH_TAG] !== undefined;
    if (isMember) entries.push(await batchText(show, members[0]!));
    const shown = isMember && !all ? members.slice(0, MOST_ROWS) : members;
    entries.push(...shown.map((row) => ({ row, isMember })));
    if (shown.length < members.length)
      entries.push(`  … and ${members.length - shown.length} more: showrunner runs --tag ${shellWord(tag)}`);
  }
  const listed = entries.filter((entry) => typeof entry !== "string");
  const filled = runColumns(Date.now()).filter(({ value }) => listed.some((one) => value(one) !== ""));
  const [head, ...lines] = table(listed, filled, width).split("\n");
  const next = lines.values();
  return [head, ...entries.map((entry) => (typeof entry === "string" ? entry : next.next().value))].join("\n");
}

function batchTag(tags: RunRow["tags"]): string {
  return tagText(BATCH_TAG, tags[BATCH_TAG]!);
}

async function batchText(show: Showrunner, { runId, account, pipeline, tags }: RunRow): Promise<string> {
  const [{ budget }, { spentMicros, heldMicros }, rows] = await Promise.all([
    show.show(runId),
    show.spending({ account, tag: batchTag(tags) }),
    show.runs({ tags: { [BATCH_TAG]: tags[BATCH_TAG]! } }),
  ]);
  const counts = Map.groupBy(rows, ({ status }) => status);
  const done = counts.get("succeeded")?.length ?? 0;
  counts.delete("succeeded");
  const others = [...counts].map(([status, { length }]) => `, ${length} ${status}`).join("");
  const held = heldMicros === 0 ? "" : `, ${dollars(heldMicros)} reserved`;
  const spent = `${dollars(spentMicros)}${budget === null ? "" : ` of ${dollars(budget)}`}${held}`;
  return `${counted(rows.length, "row")} of ${visible(pipeline)}: ${spent}, ${done} of ${rows.length} succeeded${others}`;
}

/** Returns whether a worker will continue the run. An overdue wake-up means that there is no worker. */
function isWithWorker({ wakeAt }: RunRow): boolean {
  return wakeAt !== null && wakeAt > Date.now() - MINUTE_MS;
}

async function sayWaiting(show: Showrunner, { output }: Context, rows: readonly RunRow[]): Promise<void> {
  const stopped = rows.filter(({ status }) => status === "paused" || status === "interrupted");
  const waiting = stopped.filter((row) => !isWithWorker(row));
  if (waiting.length === 0) return;
  output.say(`\n${waiting.length === 1 ? "1 run is waiting" : `${waiting.length} runs are waiting`} for you:`);
  const decisions: string[] = [];
  const commands: string[] = [];
  for (const { runId } of waiting.slice(0, MOST_WAITING)) {
    const { status, pause, next } = await show.show(runId);
    output.say(`  ${visible(runId)}  ${pause === null ? status : `paused (${pause.reason})`}`);
    if (next !== null) (pause?.reason === "approval" ? decisions : commands).push(commandLine(next));
  }
  if (waiting.length > MOST_WAITING) output.say(`  … and ${waiting.length - MOST_WAITING} more`);
  const list = "showrunner approve   (lists all pending decisions; the Review page of the dashboard does too)";
  output.next(...(decisions.length > MOST_COMMANDS ? [list] : decisions), ...commands);
}
