import { constants } from "node:fs";
import { copyFile, mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileExtension } from "../../core/kit/file-name.ts";
import { type Reference, traitsOf } from "../../core/plan/index.ts";
import type { Json, Plan, RunDocument } from "../../index.ts";
import { type Context, journalFolderOf, mediaOptionsOf } from "../context.ts";
import type { ServiceFlags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";

type Step = RunDocument["steps"][number];
export type ReviewFiles = Awaited<ReturnType<typeof reviewFiles>>;

interface About {
  readonly plan: Plan;
  readonly report: RunDocument;
  readonly review: ReviewFiles;
}

/** Copies results, so that editors cannot change files in the media store. */
export async function reviewFiles({ io }: Context, flags: ServiceFlags) {
  const { openMedia } = await import("../../core/engine/index.ts");
  const store = await openMedia({ ...mediaOptionsOf(io, flags), isReadOnly: true });
  const folder = join(journalFolderOf(io, flags), "review");
  return async (runId: string, step: string, output: Step["outputs"][number]): Promise<string | null> => {
    const { index, sha256, content_type: type } = output;
    if (sha256 === null) return null;
    const name = `${step.replaceAll("/", "_")}-${index + 1}-${sha256.slice(0, 8)}`;
    const file = join(folder, runId, `${name}${type === null ? "" : fileExtension(type)}`);
    if (await isThere(file, await store.sizeOf(sha256))) return file;
    await mkdir(dirname(file), { recursive: true });
    await using held = await store.hold([sha256]);
    await copyFile(held.path(sha256), file, constants.COPYFILE_FICLONE);
    return file;
  };
}

async function isThere(file: string, sizeBytes: number | null): Promise<boolean> {
  const known = await stat(file).catch(() => null);
  return known !== null && known.size === sizeBytes;
}

/** `pick` is the take's number for `--pick`, starting at 1. */
export interface OfferedTake {
  readonly pick: number;
  readonly step: string;
  readonly index: number;
  readonly content_type: string | null;
  readonly asset_id: string | null;
  /** The original file, or a copy with a file extension. Null if there is no file. */
  readonly path: string | null;
  readonly text: string | null;
}

export type Shown = Omit<OfferedTake, "pick">;

export async function offeredTakes(
  shows: readonly Reference[],
  { plan, report, review }: About,
): Promise<readonly OfferedTake[]> {
  const found = await Promise.all(
    shows.map(async ({ $ref }, position): Promise<readonly Shown[]> => {
      const step = report.steps.find(({ path }) => path === $ref.step);
      if ($ref.as === "upload") return [uploaded(plan, $ref.step)];
      if (step === undefined) return [];
      if ($ref.as === "value") return valueAt(step, $ref.at ?? [], position);
      const files = await filesOf(step, report, review);
      return files.filter(({ index }) => $ref.output === "all" || $ref.output === index);
    }),
  );
  return found.flat().map((take, position) => ({ pick: position + 1, ...take }));
}

export async function filesOf(step: Step, report: RunDocument, review: ReviewFiles): Promise<readonly Shown[]> {
  const there = step.outputs.filter(({ status }) => status !== "FAILED");
  return Promise.all(
    there.map(async (output): Promise<Shown> => {
      const { index, content_type, asset_id, file } = output;
      const copy = await review(report.id, step.path, output).catch(() => null);
      const path = file === null ? copy : join(report.out_dir, file);
      return { step: step.path, index, content_type, asset_id, path, text: null };
    }),
  );
}

export interface RefusedFiles extends Omit<RunDocument["refused"][number], "shows"> {
  readonly shows: readonly Shown[];
}

export function refusedFiles(refused: RunDocument["refused"], about: About): Promise<readonly RefusedFiles[]> {
  const isUpload = (path: string) => about.plan.steps.some((step) => step.path === path && step.kind === "upload");
  return Promise.all(
    refused.map(async ({ shows, ...same }) => {
      const refs = shows.map(({ step, index: output }): Reference => {
        return { $ref: { step, output, as: isUpload(step) ? "upload" : "asset" } };
      });
      const taken = await offeredTakes(refs, about);
      return { ...same, shows: taken.map(({ pick: _, ...shown }) => shown) };
    }),
  );
}

export function refusedText({ step, reason, shows }: RefusedFiles): string {
  const files = shows.map(({ path, asset_id }) => `  ${visible(path ?? asset_id ?? "–")}`);
  return [`Refused by ${visible(step)}: ${visible(reason)}`, ...files].join("\n");
}

function uploaded({ steps }: Plan, path: string): Shown {
  const step = steps.find((one) => one.path === path);
  const file = step === undefined ? null : traitsOf(step).file;
  const { contentType = null, path: source = null } = file ?? {};
  return { step: path, index: 0, content_type: contentType, asset_id: null, path: source, text: null };
}

function valueAt({ path, value }: Step, at: readonly (string | number)[], index: number): readonly Shown[] {
  const part = at.reduce<Json | undefined>((inner, key) => memberOf(inner, key), value);
  if (part === undefined || part === null) return [];
  return [{ ...valueShown(path, part), index }];
}

export function valueShown(step: string, value: Json): Shown {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return { step, index: 0, content_type: null, asset_id: null, path: null, text };
}

function memberOf(value: Json | undefined, key: string | number): Json | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { readonly [key: string]: Json })[key];
}
