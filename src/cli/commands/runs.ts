import type { RunRow } from "../../index.ts";
import { type Context, type ServiceFlags, withShowrunner } from "../context.ts";
import { ExitCode } from "../exit-code.ts";
import { visible } from "../text/escape.ts";
import { type Column, table } from "../text/table.ts";

const columns: readonly Column<RunRow>[] = [
  { title: "run", value: (row) => visible(row.runId), flexible: true },
  { title: "pipeline", value: (row) => visible(row.pipeline), flexible: true },
  { title: "status", value: (row) => row.status },
  { title: "started", value: (row) => instant(row.createdAt) },
  { title: "last event", value: (row) => instant(row.updatedAt) },
];

/** `showrunner runs`: every run of the journal, newest first. */
export async function runs(context: Context, flags: ServiceFlags & { readonly json?: boolean }): Promise<ExitCode> {
  const { io, talk } = context;
  return withShowrunner(flags, async (show) => {
    const rows = await show.runs();
    if (flags.json) talk.printJson(rows.map(document));
    else if (rows.length > 0) talk.print(table(rows, columns, io.stdout.columns));
    if (rows.length === 0) talk.say("No run yet. Next: showrunner run <file.ts>");
    return ExitCode.done;
  });
}

function document(row: RunRow): unknown {
  return {
    id: row.runId,
    pipeline: row.pipeline,
    status: row.status,
    created_at: new Date(row.createdAt).toISOString(),
    updated_at: new Date(row.updatedAt).toISOString(),
    events: row.lastSeq,
  };
}

function instant(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}
