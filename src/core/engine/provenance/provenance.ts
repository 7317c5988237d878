import { hash } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import PQueue from "p-queue";
import type { Chosen } from "../../journal/events.ts";
import { type OutputState, outputsOf, type RunState, type StepState } from "../../journal/state.ts";
import { redactText } from "../../kit/clean-text.ts";
import { syncFolder, temporaryPath } from "../../kit/durable-file.ts";
import { formatUsd } from "../../kit/money.ts";
import { editedFields, referencesOf, resolveInput, traitsOf } from "../../plan/index.ts";
import type { Json, Plan, PlanStep, Reference } from "../../plan/plan.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { referenced, referencedValue } from "../../run/resolve.ts";
import { checkReplaceable } from "../media/place-file.ts";
import { cleanJson } from "./clean-json.ts";
import type { PlannedMark } from "./planned-mark.ts";
import type { Manifest, ManifestStep } from "./provenance-schema.ts";
import { sourceTypeOf } from "./source-type.ts";

const MANIFESTS_AT_ONCE = 8;

/** Where the manifest of a named file goes, relative likewise. */
export function manifestName(file: string): string {
  return `${file}.json`;
}

/**
 * Writes the manifest of each file beside it, whole or not at all, in place of an older one, and settles once all of them
 * are on the disk; each is made when its turn comes. The files stand below `outDir` already, so their folders are known to
 * be safe ones. `tag` is in the names of their temporary files.
 */
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

/** A named file, and the output that it is a copy of. */
export interface NamedOutput {
  /** Relative to the run's folder. */
  readonly file: string;
  /** The step that really made it. */
  readonly step: string;
  readonly output: OutputState;
  /** Null: it was to have none. */
  readonly marked: PlannedMark | null;
}

/**
 * How a file came about, from the journal alone: the same run always gives the same manifest. `version` is that of this
 * program.
 */
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
    digital_source_type: sourceTypeOf(planned.plan, named.step, copy!.contentType),
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
    cost: formatUsd(steps.reduce((sum, { path }) => sum + costOf(state.steps[path]!), 0)),
    voice_consent: consentOf(state, steps),
  };
}

function markOf({ preview, mark }: PlannedMark, sha256: string): NonNullable<Manifest["mark"]> {
  const { status } = preview;
  if (status === "left") return { status, reason: preview.reason };
  if (status === "kept") return { status, digital_source_type: redactText(preview.digitalSourceType) };
  return { status, digital_source_type: mark.digitalSourceType, output_sha256: sha256 };
}

/** The step and all that led to it, each after what it used. Of what was chosen among, only the chosen. */
function ancestors(state: RunState, produced: Chosen): readonly PlanStep[] {
  const { plan } = state.planned;
  const choosers = stepsOfKinds(plan).choosers.filter((step) => standsFor(state, step.path, produced));
  const found = new Set<PlanStep>();
  const seen = new Set<string>();
  // A stack of our own: chains may be longer than calls may nest.
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
  // What an expansion led to came from the value that it was expanded by.
  const around = stepsOfKinds(state.planned.plan).expansions.filter((step) => path.startsWith(`${step.path}/`));
  return [...needs, ...(expanded ?? []).map(({ $ref }) => $ref.step), ...around.flatMap((step) => step.needs)];
}

/** Whether a step is a choice of the same: a gate may show what was chosen before. */
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

/** The planned input with every reference replaced by what it was, identified by content. */
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

function attemptsOf({ attempts, chats }: StepState): ManifestStep["attempts"] {
  const jobs = attempts.filter(({ key }) => key !== null);
  return [...jobs, ...chats].map(({ n, jobId, phase, costMicros }) => {
    return { n, job_id: jobId, status: phase, cost: costMicros === null ? null : formatUsd(costMicros) };
  });
}

function outputOf({ index, copy, contentType, assetId, voiceId }: OutputState): ManifestStep["outputs"][number] {
  return { index, sha256: copy?.sha256 ?? null, content_type: contentType, asset_id: assetId, voice_id: voiceId };
}

function uploaded({ upload }: StepState): ManifestStep["outputs"] {
  if (upload === null) return [];
  return [{ index: 0, sha256: upload.sha256, content_type: upload.contentType, asset_id: null, voice_id: null }];
}

function costOf({ attempts, chats }: StepState): number {
  return [...attempts, ...chats].reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0);
}

/** A voice that is made from somebody's speech is a clone. */
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
      ? "A voice in this file was cloned. The pipeline states the speaker's consent; nobody here has verified it."
      : `A voice in this file was cloned, and no consent of the speaker is stated for ${withoutConsent.join(", ")}.`;
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

/** With every file it would be written as often as there are files, and rows of a table lead to a file each. */
const MOST_INPUT_LENGTH = 16_384;

type ToldInput = Pick<Manifest, "input" | "input_sha256">;

const inputs = new WeakMap<RunState["planned"], ToldInput>();

/** A run's input as its manifests say it; worked out once for all of them. */
function manifestInput(planned: RunState["planned"]): ToldInput {
  const before = inputs.get(planned);
  if (before !== undefined) return before;
  const input = cleanJson(planned.input);
  const text = JSON.stringify(input);
  const found = text.length <= MOST_INPUT_LENGTH ? { input } : { input: null, input_sha256: hash("sha256", text) };
  inputs.set(planned, found);
  return found;
}
