import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { shellWord } from "../../core/kit/shell-word.ts";
import { loadRun, type Pipeline, type Showrunner, traitsOf } from "../../internal.ts";
import { CliError } from "../cli-error.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import { visible } from "../text/escape.ts";

/**
 * Returns whether a path is inside the working folder after resolving links. Other files are neither run nor
 * overwritten, because a journal can come from a stranger.
 */
export async function isOwnFile(path: string, cwd: string): Promise<boolean> {
  const inside = relative(await realpath(cwd), await realOf(resolve(cwd, path)));
  return inside !== ".." && !/^\.\.[\\/]/.test(inside) && !isAbsolute(inside);
}

/** Like `realpath`, but the path need not exist yet. */
async function realOf(path: string): Promise<string> {
  const above = dirname(path);
  return realpath(path).catch(async () =>
    above === path ? path : resolve(await realOf(above), relative(above, path)),
  );
}

interface RunCode {
  /** The run's pipeline. Null if its file cannot be loaded. */
  readonly pipeline: Pipeline | null;
  /** Whether the run needs its code, because it has local functions. */
  readonly isNeeded: boolean;
}

/**
 * Loads a run's code from the file of its last plan. Returns null if that file is missing. Throws if the run needs the
 * code but it cannot be loaded.
 */
export async function codeOf(show: Showrunner, runId: string, cwd: string): Promise<RunCode | null> {
  const { plan, source } = (await loadRun(show.journal, runId)).planned;
  if (source === null || !existsSync(source.file)) return null;
  const isNeeded = plan.steps.some((step) => traitsOf(step).needsCode);
  if (isNeeded) await checkOwn(source.file, runId, cwd);
  else if (!(await isOwnFile(source.file, cwd))) return null;
  const loaded = loadPipeline(`${source.file}#${source.exportName}`, cwd);
  return { pipeline: (await (isNeeded ? loaded : loaded.catch(() => null)))?.pipeline ?? null, isNeeded };
}

/** Throws if code is outside the working folder, because a journal can contain any path. */
export async function checkOwn(file: string, runId: string, cwd: string): Promise<void> {
  if (await isOwnFile(file, cwd)) return;
  const message = `The code of run ${visible(runId)} is in ${visible(file)}, outside this folder, so it was not loaded. If you trust that file, pass it with --file or change to its folder`;
  const next = `showrunner resume ${shellWord(runId)} --file ${shellWord(file)}`;
  throw new CliError("CODE_ELSEWHERE", message, { next });
}
