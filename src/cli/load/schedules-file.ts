import { relative } from "node:path";
import type { Schedule } from "../../index.ts";
import { CliError } from "../cli-error.ts";
import { visible } from "../text/escape.ts";
import { loadExports } from "./pipeline-file.ts";

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
