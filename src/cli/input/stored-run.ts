import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { shellWord } from "../../core/kit/value-text.ts";
import { traitsOf } from "../../core/plan/index.ts";
import { loadRun } from "../../core/view/index.ts";
import type { Pipeline, Showrunner } from "../../index.ts";
import { CliError } from "../cli-error.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import { visible } from "../text/escape.ts";

/** Resolves links, because a link could lead outside the working folder. */
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
  /** Null if its file cannot be loaded. */
  readonly pipeline: Pipeline | null;
  readonly isNeeded: boolean;
}

/** Throws if the run needs its code and the code cannot be loaded. */
export async function codeOf(show: Showrunner, runId: string, cwd: string): Promise<RunCode | null> {
  const { plan, source } = (await loadRun(show.journal, runId)).planned;
  if (source === null || !existsSync(source.file)) return null;
  const isNeeded = plan.steps.some((step) => traitsOf(step).needsCode);
  if (isNeeded) await checkOwn(source.file, runId, cwd);
  else if (!(await isOwnFile(source.file, cwd))) return null;
  const loaded = loadPipeline(`${source.file}#${source.exportName}`, cwd);
  return { pipeline: (await (isNeeded ? loaded : loaded.catch(() => null)))?.pipeline ?? null, isNeeded };
}

/** Refuses code outside the working folder, because a journal can name any file. */
export async function checkOwn(file: string, runId: string, cwd: string): Promise<void> {
  if (await isOwnFile(file, cwd)) return;
  const message = `The code of run ${visible(runId)} is in ${visible(file)}, outside this folder, so it was not loaded. If you trust that file, pass it with --file or change to its folder`;
  const next = `showrunner resume ${shellWord(runId)} --file ${shellWord(file)}`;
  throw new CliError("CODE_ELSEWHERE", message, { next });
}
