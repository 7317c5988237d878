import { relative } from "node:path";
import type { Engine } from "../../fleet/worker/index.ts";
import { inspectSchedules, runSchedules, type Schedule, type ScheduleState, type Showrunner } from "../../internal.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import { type Context, type ServiceFlags, sayWhere, withJournal, withShowrunner } from "../context.ts";
import { loadExports } from "../load/pipeline-file.ts";
import { visible, visibleError } from "../text/escape.ts";
import { type Column, table } from "../text/table.ts";

/**
 * The schedules that a file exports: a list as `default` or `schedules`. Pipelines that the file exports itself are known to
 * workers by it, so that these find their functions.
 */
export async function loadSchedules(spec: string, cwd: string): Promise<readonly Schedule[]> {
  const { file, exports } = await loadExports(spec, cwd);
  const listed = exports.schedules ?? exports.default;
  if (!Array.isArray(listed) || listed.length === 0 || !listed.every(isSchedule)) {
    const shown = visible(relative(cwd, file) || file);
    throw new CliError("PIPELINE_FILE_INVALID", `${shown} exports no list of schedules`, {
      next: 'export one: export const schedules: Schedule[] = [{ name: "news", cron: "0 6 * * *", pipeline: news, input: {} }]',
    });
  }
  return listed.map((schedule: Schedule) => {
    const exportName = Object.entries(exports).find(([, value]) => value === schedule.pipeline)?.[0];
    if (exportName === undefined) return schedule;
    return { ...schedule, options: { source: { file, exportName }, ...schedule.options } };
  });
}

/** As far as the loader has to know; the rest is checked where they are run. */
function isSchedule(value: unknown): value is Schedule {
  if (typeof value !== "object" || value === null) return false;
  const { name, cron, pipeline } = value as { readonly [field: string]: unknown };
  return typeof name === "string" && typeof cron === "string" && typeof pipeline === "object" && pipeline !== null;
}

const columns: readonly Column<ScheduleState>[] = [
  { title: "schedule", value: ({ name }) => visible(name) },
  { title: "cron", value: ({ cron, timeZone }) => visible(`${cron} ${timeZone}`), flexible: true },
  { title: "next", value: ({ nextAt }) => iso(nextAt) ?? "never" },
  {
    title: "last run",
    value: ({ last }) => (last === null ? "–" : `${visible(last.runId)} (${last.status})`),
    flexible: true,
  },
  { title: "missed", value: ({ missed }) => (missed.length === 0 ? "–" : `${missed.length} since ${iso(missed[0]!)}`) },
];

/** `showrunner schedule list`: when each is due next, what it started last, and what was missed since. */
export async function listSchedules(context: Context, file: string, flags: ServiceFlags): Promise<ExitCode> {
  const { io, output } = context;
  const schedules = await loadSchedules(file, io.cwd);
  return withJournal(flags, async (show) => {
    const found = await inspectSchedules(show, schedules, Date.now());
    if (flags.json) {
      output.printJson(
        found.map(({ nextAt, missed, ...rest }) => ({ ...rest, nextAt: iso(nextAt), missed: missed.map(iso) })),
      );
      return ExitCode.done;
    }
    output.print(table(found, columns, io.stdout.columns));
    return ExitCode.done;
  });
}

/** `showrunner schedule run`: starts runs at their times, and drives them here, until it is stopped. */
export async function runScheduleFile(context: Context, file: string, flags: ServiceFlags): Promise<ExitCode> {
  const { io, output } = context;
  const schedules = await loadSchedules(file, io.cwd);
  return withShowrunner(flags, async (show) => {
    sayWhere(show, context);
    show.notifications.start();
    output.say("Starts runs at their times, and drives them. Ctrl-C shuts down gracefully.");
    await follow(context, show, schedules, { handOver: false });
    return ExitCode.interrupted;
  });
}

/** Of a worker; none where it has no file of them. */
export async function schedulesOf(
  { io }: Context,
  { schedules }: { readonly schedules?: string | undefined },
): Promise<readonly Schedule[]> {
  return schedules === undefined ? [] : loadSchedules(schedules, io.cwd);
}

/** Starts the runs of schedules for the workers of the journal, until it is stopped; answers with what waits for that. */
export async function followSchedules(
  context: Context,
  show: Showrunner,
  schedules: readonly Schedule[],
  engine?: Engine,
): Promise<() => Promise<void>> {
  if (schedules.length === 0) return async () => {};
  // What is wrong with one of them ends the command before anything is driven.
  await inspectSchedules(show, schedules, Date.now());
  const over = follow(context, show, schedules, { handOver: true, engine });
  over.catch(() => {});
  return () => over;
}

function follow(
  { io, output }: Context,
  show: Showrunner,
  schedules: readonly Schedule[],
  { handOver, engine }: { readonly handOver: boolean; readonly engine?: Engine | undefined },
): Promise<void> {
  return runSchedules(show, schedules, {
    signal: io.interrupt,
    handOver,
    onFiring({ runId, outcome, error }) {
      const why = error === undefined ? "" : `: ${visibleError(error)}`;
      output.say(`Schedule ${visible(runId)}: ${outcome}${why}`);
      // A wake that fails is found by the workers' search of the journal.
      if (outcome === "started") engine?.wake(runId).catch(() => {});
    },
  });
}

function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
