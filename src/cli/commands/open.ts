import { suggest } from "../../core/kit/lookup.ts";
import { traitsOf } from "../../core/plan/index.ts";
import { loadRun } from "../../core/view/index.ts";
import type { RunDocument } from "../../index.ts";
import { ExitCode, usageError } from "../cli-error.ts";
import { type Context, withJournal } from "../context.ts";
import type { Flags } from "../program/flags.ts";
import { filesOf, type OfferedTake, offeredTakes, type ReviewFiles, reviewFiles } from "../report/offered-takes.ts";
import { visible, visibleLines } from "../text/escape.ts";
import { counted } from "../text/table.ts";

export async function open(context: Context, runId: string, path: string, flags: Flags["open"]): Promise<ExitCode> {
  const { io, output } = context;
  return withJournal(flags, async (show) => {
    const report = await show.show(runId);
    const step = report.steps.find((one) => one.path === path) ?? (await unknownStep(report, path));
    const review = await reviewFiles(context, flags);
    const { plan } = (await loadRun(show.journal, runId)).planned;
    const planned = plan.steps.find((one) => one.path === path);
    const { decision = null, file: source = null } = planned === undefined ? {} : traitsOf(planned);
    const shown =
      decision !== null || source !== null
        ? await offeredTakes(decision?.shows ?? [uploadOf(path)], { plan, report, review })
        : await own(step, report, review);
    const files = shown.flatMap(({ path: file }) => (file === null ? [] : [file]));
    if (flags.json) output.printJson(shown);
    else
      for (const { path: file, text } of shown) output.print(file === null ? visibleLines(text ?? "–") : visible(file));
    if (shown.length === 0) output.say(`${visible(path)} has no output; its status is ${step.status}.`);
    if (flags.json || flags.print || io.open === null || files.length === 0) return ExitCode.done;
    for (const file of files) await io.open(file);
    output.say(`Opened ${counted(files.length, "file")}.`);
    return ExitCode.done;
  });
}

const uploadOf = (step: string) => ({ $ref: { step, output: 0, as: "upload" } }) as const;

type Shown = Omit<OfferedTake, "pick">;

async function own(
  step: RunDocument["steps"][number],
  report: RunDocument,
  review: ReviewFiles,
): Promise<readonly Shown[]> {
  const files = await filesOf(step, report, review);
  if (files.length > 0 || step.value === null) return files;
  const text = typeof step.value === "string" ? step.value : JSON.stringify(step.value, null, 2);
  return [{ step: step.path, index: 0, content_type: null, asset_id: null, path: null, text }];
}

async function unknownStep(report: RunDocument, path: string): Promise<never> {
  const known = report.steps.map((step) => step.path);
  const [suggestion] = suggest(path, known);
  const hint = suggestion === undefined ? "" : `; did you mean ${visible(suggestion)}?`;
  throw usageError(
    `Run ${visible(report.id)} has no step ${visible(path)}${hint}`,
    suggestion === undefined ? `showrunner show ${report.id}` : `showrunner open ${report.id} ${suggestion}`,
  );
}
