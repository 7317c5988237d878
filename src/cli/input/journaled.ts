import { existsSync } from "node:fs";
import type { Pipeline, Plan, Showrunner } from "../../index.ts";
import { shellWord } from "../../shell-word.ts";
import { CliError } from "../cli-error.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import { visible } from "../text/escape.ts";
import { isOwnFile } from "./own-file.ts";

/** The plan of a run as it is now: with what its code changed since, and with what its values led to. */
export async function planOf(show: Showrunner, runId: string): Promise<Plan> {
  let plan: Plan | null = null;
  for await (const { event } of show.events(runId)) {
    if (event.type === "run.planned" || event.type === "run.replanned") ({ plan } = event);
    if (event.type === "expand.planned" && plan !== null) {
      // What is planned again takes the place of what was planned before.
      const again = new Set(event.steps.map(({ path }) => path));
      plan = { ...plan, steps: [...plan.steps.filter(({ path }) => !again.has(path)), ...event.steps] };
    }
  }
  if (plan === null) throw new Error(`run ${runId} has no first event`);
  return plan;
}

/** The file that a run's plan was made from last; null when it was planned by other code than a file's. */
export async function sourceOf(
  show: Showrunner,
  runId: string,
): Promise<{ readonly file: string; readonly exportName: string } | null> {
  let source: { readonly file: string; readonly exportName: string } | null = null;
  for await (const { event } of show.events(runId)) {
    if (event.type === "run.planned" || event.type === "run.replanned") source = event.source ?? source;
  }
  return source;
}

const ownCode = new Set(["task", "expand"]);

/**
 * The code of a run that has local functions, from the file that its plan was made from last; null when it has none, or when the
 * file is not there any more. Throws CliError `CODE_ELSEWHERE` for a file that is not below the working folder.
 */
export async function codeOf(show: Showrunner, runId: string, cwd: string): Promise<Pipeline | null> {
  let source: { readonly file: string; readonly exportName: string } | null = null;
  let needsCode = false;
  for await (const { event } of show.events(runId)) {
    if (event.type !== "run.planned" && event.type !== "run.replanned") continue;
    source = event.source ?? source;
    needsCode = event.plan.steps.some(
      (step) => ownCode.has(step.kind) || (step.kind === "pick" && step.by === "score"),
    );
  }
  if (!needsCode || source === null || !existsSync(source.file)) return null;
  await checkOwn(source.file, runId, cwd);
  return (await loadPipeline(`${source.file}#${source.exportName}`, cwd)).pipeline;
}

/** Loading a file runs it, and a journal may name any. */
export async function checkOwn(file: string, runId: string, cwd: string): Promise<void> {
  if (await isOwnFile(file, cwd)) return;
  const message = `run ${visible(runId)} names ${visible(file)} as its code, which lies outside of this folder; nothing was loaded. If you trust that file, name it, or go to its folder`;
  const next = `showrunner resume ${shellWord(runId)} --file ${shellWord(file)}`;
  throw new CliError("CODE_ELSEWHERE", message, { next });
}
