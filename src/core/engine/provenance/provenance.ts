import { hash } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { basename } from "node:path/posix";
import PQueue from "p-queue";
import type { Chosen, StoredCopy } from "../../journal/events.ts";
import { costOf, type OutputState, outputsOf, type RunState, type StepState, wasSent } from "../../journal/state.ts";
import { redactText, withoutSecrets } from "../../kit/clean-text.ts";
import { open, syncFolder, temporaryPath } from "../../kit/files.ts";
import { formatUsd } from "../../kit/money.ts";
import { type DigitalSourceType, type Mark, type MarkPreview, previewMark } from "../../marks/index.ts";
import { editedFields, referencesOf, resolveInput, traitsOf } from "../../plan/index.ts";
import { type Json, type Plan, type PlanStep, type Reference, stepNamed } from "../../plan/plan.ts";
import { referenced, referencedValue } from "../../run/resolve.ts";
import type { MediaStore } from "../media/media-store.ts";
import { checkReplaceable } from "../media/place-file.ts";
import type { Manifest, ManifestStep } from "./provenance-schema.ts";

const MANIFESTS_AT_ONCE = 8;

export function manifestName(file: string): string {
  return `${file}.json`;
}

/** Writes a manifest beside each file, which must already be in place. Atomically replaces earlier manifests. */
export async function placeManifests<F extends { readonly file: string }>(
  outDir: string,
  files: readonly F[],
  manifestFor: (file: F) => Manifest,
  tag: string,
): Promise<void> {
  const queue = new PQueue({ concurrency: MANIFESTS_AT_ONCE });
  await queue.addAll(files.map((file) => () => writeBeside(outDir, manifestFor(file), tag)));
  const folders = new Set(files.map(({ file }) => dirname(join(outDir, file))));
  await queue.addAll([...folders].map((folder) => () => syncFolder(folder)));
}

async function writeBeside(outDir: string, manifest: Manifest, tag: string): Promise<void> {
  const target = join(outDir, manifestName(manifest.file.name));
  await checkReplaceable(target, "a manifest");
  const tmp = temporaryPath(dirname(target), tag);
  try {
    const file = await open(tmp, "wx");
    try {
      await file.writeFile(`${JSON.stringify(manifest, null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(tmp, target);
  } finally {
    await rm(tmp, { force: true });
  }
}

export interface NamedOutput {
  readonly file: string;
  readonly step: string;
  readonly output: OutputState;
  readonly marked: PlannedMark | null;
}

/** Builds a file's manifest from the journal alone, so that a run always yields the same manifest. */
export function manifestOf(state: RunState, named: NamedOutput, version: string): Manifest {
  const { planned } = state;
  const { copy, width, height, durationMs, fps, index } = named.output;
  const steps = ancestors(state, { step: named.step, index });
  const produced = state.steps[named.step]!;
  const { marked } = named;
  const { sha256, sizeBytes } = marked?.preview.status === "marked" ? marked.preview : copy!;
  const models = steps.flatMap((step) => ("model" in step ? [step.model] : []));
  return {
    manifest: 1,
    showrunner: version,
    file: {
      name: named.file,
      sha256,
      size_bytes: sizeBytes,
      content_type: copy!.contentType,
      width,
      height,
      duration_ms: durationMs,
      fps,
    },
    digital_source_type: plannedSourceType(planned.plan, named.step, copy!.contentType),
    ...(marked !== null && { mark: markOf(marked, copy!.sha256) }),
    made_by: { step: named.step, output: index },
    created_at: instant(produced.reusedFrom?.completedAt ?? produced.finishedAt ?? state.createdAt)!,
    pipeline: planned.plan.pipeline,
    run: state.runId,
    profile: planned.profile?.name ?? null,
    service: { base_url: redactText(planned.baseUrl) },
    ...manifestInput(planned),
    models: [...new Set(models)].sort(),
    steps: steps.map((plan) => manifestStep(state, plan)),
    cost: formatUsd(steps.reduce((sum, { path }) => sum + costOf(state.steps[path]!.attempts), 0)),
    voice_consent: consentOf(state, steps),
  };
}

function markOf({ preview, mark }: PlannedMark, sha256: string): NonNullable<Manifest["mark"]> {
  const { status } = preview;
  if (status === "left") return { status, reason: preview.reason };
  if (status === "kept") return { status, digital_source_type: redactText(preview.digitalSourceType) };
  return { status, digital_source_type: mark.digitalSourceType, output_sha256: sha256 };
}

function ancestors(state: RunState, produced: Chosen): readonly PlanStep[] {
  const { plan } = state.planned;
  const choosers = stepsOfKinds(plan).choosers.filter((step) => standsFor(state, step.path, produced));
  const found = new Set<PlanStep>();
  const seen = new Set<string>();
  // Use an explicit stack, because chains may be deeper than the call stack allows.
  const open = [...choosers.map((step) => step.path), produced.step];
  for (let next = open.at(-1); next !== undefined; next = open.at(-1)) {
    const step = stepNamed(plan, next);
    if (step === undefined || seen.has(next)) {
      open.pop();
      if (step !== undefined) found.add(step);
      continue;
    }
    seen.add(next);
    open.push(...sourcesOf(state, step).filter((source) => !seen.has(source)));
  }
  return [...found];
}

function sourcesOf(state: RunState, { path, needs }: PlanStep): readonly string[] {
  const { chosen = null, expanded = null } = state.steps[path] ?? {};
  if (chosen !== null) return [chosen.step, ...needs.filter((needed) => standsFor(state, needed, chosen))];
  // Steps in an expansion also depend on everything that the expansion depends on.
  const around = stepsOfKinds(state.planned.plan).expansions.filter((step) => path.startsWith(`${step.path}/`));
  return [...needs, ...(expanded ?? []).map(({ $ref }) => $ref.step), ...around.flatMap((step) => step.needs)];
}

function standsFor(state: RunState, path: string, { step, index }: Chosen): boolean {
  const chosen = state.steps[path]?.chosen ?? null;
  return chosen !== null && chosen.step === step && chosen.index === index;
}

interface StepsOfKinds {
  readonly choosers: readonly PlanStep[];
  readonly expansions: readonly PlanStep[];
}

const byKind = new WeakMap<Plan, StepsOfKinds>();

function stepsOfKinds(plan: Plan): StepsOfKinds {
  let found = byKind.get(plan);
  if (found === undefined) {
    found = {
      choosers: plan.steps.filter((step) => traitsOf(step).standsFor.length > 0),
      expansions: plan.steps.filter((step) => traitsOf(step).expansion !== null),
    };
    byKind.set(plan, found);
  }
  return found;
}

function manifestStep(state: RunState, plan: PlanStep): ManifestStep {
  const step = state.steps[plan.path]!;
  const input = askedOf(state, plan);
  const edited = editedFields(state.planned.edits, plan.path);
  return {
    path: plan.path,
    kind: plan.kind,
    model: "model" in plan ? plan.model : null,
    input,
    ...(edited.length > 0 && { edited: [...edited] }),
    seed: seedOf(input),
    version: "version" in plan ? plan.version : null,
    attempts: attemptsOf(step),
    outputs: step.upload !== null ? uploaded(step) : outputsOf(step).map(outputOf),
    value: cleanJson(step.value ?? null),
    chosen: step.chosen,
    approval:
      step.approval === null ? null : { ...step.approval, note: step.approval.note && redactText(step.approval.note) },
    reused_from:
      step.reusedFrom === null
        ? null
        : { run: step.reusedFrom.runId, step: step.reusedFrom.step, made_at: instant(step.reusedFrom.completedAt)! },
    finished_at: instant(step.finishedAt),
  };
}

function askedOf(state: RunState, plan: PlanStep): ManifestStep["input"] {
  const { file } = traitsOf(plan);
  if (file !== null) return { file: redactText(fileName(file.path)) };
  if (!("input" in plan)) return null;
  return cleanJson(resolveInput(plan.input, (ref) => resolvedFor(state, ref)));
}

function resolvedFor(state: RunState, ref: Reference["$ref"]): Json | undefined {
  if (ref.as === "value") return referencedValue(state, ref);
  const upload = state.steps[ref.step]?.upload ?? null;
  if (upload !== null) return { step: ref.step, output: 0, sha256: upload.sha256 };
  const all = referenced(state, ref).map(({ step, output }): Json => {
    if (output.voiceId !== null) return { step, voice_id: output.voiceId };
    return { step, output: output.index, sha256: output.copy?.sha256 ?? null };
  });
  return ref.output === "all" ? all : all[0];
}

function attemptsOf({ attempts }: StepState): ManifestStep["attempts"] {
  return attempts.filter(wasSent).map(({ n, jobId, phase, costMicros }) => {
    return { n, job_id: jobId, status: phase, cost: formatUsd(costMicros) };
  });
}

function outputOf({ index, copy, contentType, assetId, voiceId }: OutputState): ManifestStep["outputs"][number] {
  return { index, sha256: copy?.sha256 ?? null, content_type: contentType, asset_id: assetId, voice_id: voiceId };
}

function uploaded({ upload }: StepState): ManifestStep["outputs"] {
  if (upload === null) return [];
  return [{ index: 0, sha256: upload.sha256, content_type: upload.contentType, asset_id: null, voice_id: null }];
}

function consentOf(state: RunState, steps: readonly PlanStep[]): Manifest["voice_consent"] {
  const clones = steps.flatMap((step) => {
    const { submits } = traitsOf(step);
    return submits !== null && step.yields === "voice" && takesMedia(submits.input) ? [submits] : [];
  });
  if (clones.length === 0) return null;
  const voices = clones.map(({ path, policy }) => {
    const statement = policy.consent ?? state.planned.consent ?? null;
    const [produced] = outputsOf(state.steps[path]!);
    return {
      step: path,
      voice_id: produced?.voiceId ?? null,
      statement: statement === null ? null : redactText(statement),
    };
  });
  const withoutConsent = voices.filter(({ statement }) => statement === null).map(({ step }) => step);
  const note =
    withoutConsent.length === 0
      ? "A voice in this file was cloned. The pipeline states that the speaker consented, which has not been verified."
      : `This file contains cloned voices, but the speaker's consent is not recorded for ${withoutConsent.join(", ")}.`;
  return { note, voices };
}

function takesMedia(input: Json): boolean {
  const refs = referencesOf(input);
  return refs.some(({ as }) => as === "upload" || as === "asset") || JSON.stringify(input).includes('"asset_id"');
}

function seedOf(input: Json): number | null {
  if (typeof input !== "object" || input === null || !("seed" in input)) return null;
  return typeof input.seed === "number" ? input.seed : null;
}

function fileName(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? "";
}

function instant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** Maximum length of an input in a manifest, in characters. For a longer input, the manifest contains only a hash. */
const MOST_INPUT_LENGTH = 16_384;

type ToldInput = Pick<Manifest, "input" | "input_sha256">;

const inputs = new WeakMap<RunState["planned"], ToldInput>();

function manifestInput(planned: RunState["planned"]): ToldInput {
  const before = inputs.get(planned);
  if (before !== undefined) return before;
  const input = cleanJson(planned.input);
  const text = JSON.stringify(input);
  const found = text.length <= MOST_INPUT_LENGTH ? { input } : { input: null, input_sha256: hash("sha256", text) };
  inputs.set(planned, found);
  return found;
}

/** Makes JSON safe to show: removes secrets, and replaces paths with file names. */
export function cleanJson(value: Json): Json {
  return withoutSecrets(withFileNames(value)) as Json;
}

function withFileNames(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withFileNames);
  const record = value as { readonly [key: string]: Json };
  if (isLocalFile(record)) return { file: basename(String(record.path).replaceAll("\\", "/")), kind: record.kind! };
  return Object.fromEntries(Object.entries(record).map(([key, item]) => [key, withFileNames(item)]));
}

function isLocalFile({ path, kind, ...rest }: { readonly [key: string]: Json }): boolean {
  const isKind = kind === "image" || kind === "video" || kind === "audio";
  return typeof path === "string" && isKind && Object.keys(rest).length === 0;
}

interface PlannedMark {
  readonly mark: Mark;
  readonly preview: MarkPreview;
}

/** Returns how to mark an output; null if it gets no mark. @throws MediaMissingError */
export async function plannedMark(
  { planned }: RunState,
  { step, copy: { sha256, contentType } }: { readonly step: string; readonly copy: StoredCopy },
  media: MediaStore,
): Promise<PlannedMark | null> {
  const digitalSourceType = planned.marks === true ? plannedSourceType(planned.plan, step, contentType) : null;
  if (digitalSourceType === null) return null;
  await using held = await media.hold([sha256]);
  const mark = { digitalSourceType };
  return { mark, preview: await previewMark(held.path(sha256), mark) };
}

/** Returns an output's IPTC digital source type; null if no model contributed to its images or sound. */
function plannedSourceType(plan: Plan, path: string, contentType: string): DigitalSourceType | null {
  if (!/^(?:image|video|audio)\//.test(contentType)) return null;
  const steps = mediaSources(plan, path);
  if (!steps.some(isByModel)) return null;
  const isWhole = steps.every((step) => isByModel(step) || traitsOf(step).standsFor.length > 0);
  return isWhole ? "trainedAlgorithmicMedia" : "compositeWithTrainedAlgorithmicMedia";
}

function isByModel(step: PlanStep): boolean {
  return traitsOf(step).pricing.by !== "nothing" && step.yields !== "value";
}

function mediaSources(plan: Plan, path: string): readonly PlanStep[] {
  const found = new Map<string, PlanStep>();
  const open = [path];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const step = stepNamed(plan, next);
    if (step === undefined || found.has(next)) continue;
    found.set(next, step);
    open.push(...usedMedia(step).map(({ step }) => step));
  }
  return [...found.values()];
}

function usedMedia(step: PlanStep): readonly Reference["$ref"][] {
  const { standsFor } = traitsOf(step);
  const references = "input" in step ? referencesOf(step.input) : standsFor.map(({ $ref }) => $ref);
  return references.filter(({ as }) => as === "asset" || as === "upload");
}
