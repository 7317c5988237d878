import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { shellWord } from "../../core/kit/shell-word.ts";
import { loadRun, type Pipeline, type Showrunner, traitsOf } from "../../internal.ts";
import { CliError } from "../cli-error.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import { visible } from "../text/escape.ts";

/**
 * Whether a path that a journal names lies below the working folder, where links lead too. A journal may be a stranger's:
 * what it names anywhere else is neither run nor written to unless somebody names it on the command line.
 */
export async function isOwnFile(path: string, cwd: string): Promise<boolean> {
  const inside = relative(await realpath(cwd), await realOf(resolve(cwd, path)));
  return inside !== ".." && !/^\.\.[\\/]/.test(inside) && !isAbsolute(inside);
}

/** Of what is not there yet: where it would be. */
async function realOf(path: string): Promise<string> {
  const above = dirname(path);
  return realpath(path).catch(async () =>
    above === path ? path : resolve(await realOf(above), relative(above, path)),
  );
}

interface RunCode {
  /** Null when its file cannot be loaded. */
  readonly pipeline: Pipeline | null;
  /** Whether the run has local functions: without them it continues without its code. */
  readonly isNeeded: boolean;
}

/**
 * The code of a run, from the file that it was last planned from; null when that is not there. Of a run with local functions
 * it must load, or throws; the file has to be below the working folder (`CODE_ELSEWHERE`). Of any other it is left alone there.
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

/** Loading a file runs it, and a journal may name any. */
export async function checkOwn(file: string, runId: string, cwd: string): Promise<void> {
  if (await isOwnFile(file, cwd)) return;
  const message = `run ${visible(runId)} names ${visible(file)} as its code, which lies outside of this folder; nothing was loaded. If you trust that file, name it, or go to its folder`;
  const next = `showrunner resume ${shellWord(runId)} --file ${shellWord(file)}`;
  throw new CliError("CODE_ELSEWHERE", message, { next });
}
