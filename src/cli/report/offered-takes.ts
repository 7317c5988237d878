import { constants } from "node:fs";
import { copyFile, mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileExtension } from "../../core/kit/file-name.ts";
import { type Decision, traitsOf } from "../../core/plan/index.ts";
import { loadRun, RunView } from "../../core/view/index.ts";
import type { Json, RunDocument, Showrunner } from "../../index.ts";
import { type Context, journalFolderOf } from "../context.ts";
import type { ServiceFlags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";

type Step = RunDocument["steps"][number];
type Output = Step["outputs"][number];

export interface About {
  readonly run: RunView;
  readonly report: RunDocument;
  /** Copies a result for review. Returns the path of the copy, or null if the result has no file. */
  readonly review: ReturnType<typeof reviewFiles>;
}

export async function aboutRun(show: Showrunner, context: Context, runId: string, flags: ServiceFlags): Promise<About> {
  const report = await show.show(runId);
  const run = new RunView(await loadRun(show.journal, runId));
  return { run, report, review: reviewFiles(show, context, flags) };
}

/** Returns a function that copies a result for review, so that editors cannot change files in the media store. */
function reviewFiles({ media }: Showrunner, { io }: Context, flags: ServiceFlags) {
  const folder = join(journalFolderOf(io, flags), "review");
  return async (runId: string, step: string, output: Output): Promise<string | null> => {
    const { index, sha256, content_type: type } = output;
    if (sha256 === null) return null;
    const name = `${step.replaceAll("/", "_")}-${index + 1}-${sha256.slice(0, 8)}`;
    const file = join(folder, runId, `${name}${type === null ? "" : fileExtension(type)}`);
    const copied = await stat(file).catch(() => null);
    if (copied?.size === (await media.sizeOf(sha256))) return file;
    await mkdir(dirname(file), { recursive: true });
    await using held = await media.hold([sha256]);
    await copyFile(held.path(sha256), file, constants.COPYFILE_FICLONE);
    return file;
  };
}

/** A result that can be picked. `pick` is its number for `--pick`, starting at 1. */
export interface OfferedTake {
  readonly pick: number;
  readonly step: string;
  readonly index: number;
  readonly content_type: string | null;
  readonly asset_id: string | null;
  /** Path of the file, or of a copy that has a file extension. Null if there is no file. */
  readonly path: string | null;
  readonly text: string | null;
}

type Shown = Omit<OfferedTake, "pick">;

/** Returns the results that a decision offers, in order, with their numbers for `--pick`. */
export async function offeredTakes(decision: Decision, about: About): Promise<readonly OfferedTake[]> {
  const found = decision.shows.map(async (show, position): Promise<readonly Shown[]> => {
    const { $ref } = show;
    const offered = about.run.offered({ ...decision, shows: [show] });
    if ($ref.as !== "value") return Promise.all(offered.map((at) => fileAt(at, about)));
    const value = about.run.value($ref);
    return value === undefined ? [] : [{ ...valueShown($ref.step, value), index: position }];
  });
  return (await Promise.all(found)).flat().map((take, position) => ({ pick: position + 1, ...take }));
}

/** Returns the files or the value of a step that is not a decision. */
export async function resultsOf(step: Step, about: About): Promise<readonly Shown[]> {
  if (uploadedAs(step.path, about) !== null) return [await fileAt({ step: step.path, index: 0 }, about)];
  const there = step.outputs.filter(({ status }) => status !== "FAILED");
  if (there.length === 0 && step.value !== null) return [valueShown(step.path, step.value)];
  return Promise.all(there.map(({ index }) => fileAt({ step: step.path, index }, about)));
}

async function fileAt(at: { readonly step: string; readonly index: number }, about: About): Promise<Shown> {
  const { step, index } = at;
  const { report, review } = about;
  const nothing = { step, index, content_type: null, asset_id: null, path: null, text: null };
  const uploaded = uploadedAs(step, about);
  if (uploaded !== null) return { ...nothing, content_type: uploaded.contentType ?? null, path: uploaded.path ?? null };
  const { outputs = [] } = report.steps.find(({ path }) => path === step) ?? {};
  const output = outputs.find((one) => one.index === index);
  if (output === undefined) return nothing;
  const { content_type, asset_id, file } = output;
  const path = file === null ? await review(report.id, step, output).catch(() => null) : join(report.out_dir, file);
  return { ...nothing, content_type, asset_id, path };
}

function uploadedAs(path: string, { run }: About) {
  const plan = run.state.planned.plan.steps.find((step) => step.path === path);
  return plan === undefined ? null : traitsOf(plan).file;
}

export interface RefusedFiles extends Omit<RunDocument["refused"][number], "shows"> {
  readonly shows: readonly Shown[];
}

export function refusedFiles(refused: RunDocument["refused"], about: About): Promise<readonly RefusedFiles[]> {
  return Promise.all(
    refused.map(async ({ shows, ...same }) => {
      return { ...same, shows: await Promise.all(shows.map((at) => fileAt(at, about))) };
    }),
  );
}

export function refusedText({ step, reason, shows }: RefusedFiles): string {
  const files = shows.map(({ path, asset_id }) => `  ${visible(path ?? asset_id ?? "–")}`);
  return [`Refused by ${visible(step)}: ${visible(reason)}`, ...files].join("\n");
}

function valueShown(step: string, value: Json): Shown {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return { step, index: 0, content_type: null, asset_id: null, path: null, text };
}
