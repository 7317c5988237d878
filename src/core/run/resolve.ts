import type { StoredCopy } from "../journal/events.ts";
import { isStepFinal, type OutputState, outputsOf, planStep, type RunState, type StepState } from "../journal/state.ts";
import { isOwnSource, traitsOf } from "../plan/index.ts";
import { type Json, type PlanStep, type Reference, stepNamed } from "../plan/plan.ts";

type Ref = Reference["$ref"];

/** Who receives an input. The service accepts assets, uploads and voices; a local function accepts files. */
export type Reader = "service" | "local";

export function readerOf(plan: PlanStep): Reader {
  return traitsOf(plan).readsFiles ? "local" : "service";
}

export interface ProducedOutput {
  readonly step: string;
  readonly output: OutputState;
}

/** Returns the outputs that a reference stands for. Follows picks, approvals and expansions. */
export function referenced(state: RunState, ref: Pick<Ref, "step" | "output">): readonly ProducedOutput[] {
  const step = state.steps[ref.step];
  if (step === undefined) return [];
  if (step.chosen !== null) return referenced(state, { step: step.chosen.step, output: step.chosen.index });
  const parts = step.expanded ?? approvedReferences(state, step);
  const usable =
    parts === null
      ? outputsOf(step).flatMap((output) => (isUsable(output) ? [{ step: ref.step, output }] : []))
      : parts.flatMap(({ $ref }) => referenced(state, $ref));
  if (ref.output === "all") return usable;
  const index = ref.output === "chosen" ? 0 : ref.output;
  return parts === null ? usable.filter(({ output }) => output.index === index) : usable.slice(index, index + 1);
}

function approvedReferences(state: RunState, step: StepState): readonly Reference[] | null {
  if (step.approval?.approved !== true) return null;
  return traitsOf(planStep(state, step.path)).standsFor;
}

export function referencedValue(state: RunState, ref: Pick<Ref, "step" | "output" | "at">): Json | undefined {
  const step = state.steps[ref.step];
  if (step === undefined) return undefined;
  if (step.approval !== null && step.value !== undefined) return placeIn(step.value, ref.at);
  if (step.chosen !== null) {
    const shown = shownValue(state, ref.step, step.chosen);
    return shown === null ? undefined : placeIn(referencedValue(state, shown), ref.at);
  }
  if (step.expanded !== null) {
    const values = step.expanded.flatMap(({ $ref }) => referencedValue(state, $ref) ?? []);
    return placeIn(ref.output === "all" ? values : values[Number(ref.output)], ref.at);
  }
  const [shown] = approvedReferences(state, step) ?? [];
  if (shown === undefined) return placeIn(step.value, ref.at);
  return placeIn(referencedValue(state, shown.$ref), ref.at);
}

function shownValue(state: RunState, path: string, chosen: NonNullable<StepState["chosen"]>): Ref | null {
  const plan = stepNamed(state.planned.plan, path);
  return plan === undefined ? null : (traitsOf(plan).standsFor[chosen.index]?.$ref ?? null);
}

function placeIn(value: Json | undefined, at: Ref["at"]): Json | undefined {
  let found = value;
  for (const key of at ?? []) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as { readonly [key: string]: Json })[key];
  }
  return found;
}

function isUsable(output: OutputState): boolean {
  return output.status === "COMPLETED" && (output.phase !== "expired" || output.voiceId !== null);
}

export function areSkippedByCondition(state: RunState, references: readonly Reference[]): boolean {
  return references.length > 0 && references.every(({ $ref }) => state.steps[$ref.step]?.skippedByCondition === true);
}

/** Returns why the referenced result does not exist; null if it exists. Call this only after its step has finished. */
export function missingReason(state: RunState, ref: Ref): string | null {
  const step = state.steps[ref.step]!;
  if (ref.as === "upload") return step.upload === null ? `the file of ${ref.step} does not exist` : null;
  if (ref.as === "value") {
    if (referencedValue(state, ref) !== undefined) return null;
    const where = ref.at === undefined ? "" : ` at ${ref.at.join(".")}`;
    return `needs the value of ${ref.step}${where}, which does not exist`;
  }
  if (chosenUpload(state, step) !== null) return null;
  const available = referenced(state, ref).length;
  const { expected } = tally(state, ref);
  if (available > 0 && available < expected)
    return `needs all outputs of ${ref.step}, but ${expected - available} of ${expected} failed`;
  if (available > 0 || (expected === 0 && !step.skippedByCondition)) return null;
  const which = typeof ref.output === "number" ? `output ${ref.output} of ${ref.step}` : `the outputs of ${ref.step}`;
  return `needs ${which}, which ${whyUnusable(state, step, ref)}`;
}

export function tally(
  state: RunState,
  ref: Ref,
  outputs?: readonly ProducedOutput[],
): {
  readonly expected: number;
  readonly available: number;
} {
  const step = state.steps[ref.step];
  if (step === undefined) return { expected: 1, available: 0 };
  if (step.skippedByCondition) return { expected: 0, available: 0 };
  if (step.expanded !== null && ref.output === "all") {
    const inner = step.expanded.map(({ $ref }) => tally(state, $ref));
    const sum = (field: "expected" | "available") => inner.reduce((total, counts) => total + counts[field], 0);
    return { expected: sum("expected"), available: sum("available") };
  }
  if (ref.as === "upload") return { expected: 1, available: chosenUpload(state, step) === null ? 0 : 1 };
  if (ref.as === "value") return { expected: 1, available: referencedValue(state, ref) === undefined ? 0 : 1 };
  const available = chosenUpload(state, step) !== null ? 1 : (outputs ?? referenced(state, ref)).length;
  if (ref.output !== "all" || step.chosen !== null) return { expected: 1, available: Math.min(1, available) };
  return { expected: Math.max(1, outputsOf(step).length), available };
}

function whyUnusable(state: RunState, step: StepState, ref: Pick<Ref, "step" | "output">): string {
  const { chosen } = step;
  if (chosen !== null)
    return whyUnusable(state, state.steps[chosen.step]!, { step: chosen.step, output: chosen.index });
  const outputs = outputsOf(step);
  const output =
    typeof ref.output === "number" ? outputs[ref.output] : outputs.find((candidate) => candidate.phase === "expired");
  if (output === undefined && outputs.length === 0)
    return step.skippedByCondition ? "was skipped by a condition" : "does not exist";
  if (output?.phase !== "expired") return "failed";
  return `expired on the service and has no local copy; rerun the step with: showrunner resume ${state.runId} --rerun ${step.path}`;
}

export function chosenUpload(state: RunState, step: StepState): StoredCopy | null {
  return step.upload ?? (step.chosen === null ? null : chosenUpload(state, state.steps[step.chosen.step]!));
}

export function isAtHand(state: RunState, ref: Ref, reader: Reader): boolean {
  if (ref.as !== "asset") return true;
  return referenced(state, ref).every(({ output: { phase, copy, voiceId } }) => {
    return copy !== null || voiceId !== null || (reader === "service" && phase !== "lapsed");
  });
}

export function resolveReference(state: RunState, ref: Ref, reader: Reader): Json | undefined {
  if (ref.as === "value") {
    const found = referencedValue(state, ref);
    const value = found === undefined ? found : reader === "service" ? guardedSources(found) : guarded(found);
    return ref.output === "all" && value !== undefined && !Array.isArray(value) ? [value] : value;
  }
  const upload = chosenUpload(state, state.steps[ref.step]!);
  if (upload !== null) return fileOrUpload(upload, reader);
  const values = referenced(state, ref).map(({ output }): Json => {
    if (output.voiceId !== null) return output.voiceId;
    if (reader === "local") return fileOrUpload(output.copy!, reader);
    // The asset has expired on the service, but its local copy can be uploaded for free.
    if (output.phase === "archived" && output.copy !== null) return fileOrUpload(output.copy, reader);
    return { source: "asset", asset_id: output.assetId };
  });
  return ref.output === "all" ? values : values[0];
}

/**
 * Resolves a reference. Returns null while its target may still be produced. If it never will be, `value` is undefined.
 */
export function resolvedSoFar(state: RunState, ref: Ref): { readonly value: Json | undefined } | null {
  const source = state.steps[ref.step];
  if (source === undefined || !isStepFinal(source.status)) return null;
  if (missingReason(state, ref) !== null) return { value: undefined };
  return isAtHand(state, ref, "service") ? { value: resolveReference(state, ref, "service") } : null;
}

function fileOrUpload({ sha256, contentType }: { sha256: string; contentType: string }, reader: Reader): Json {
  return reader === "local" ? { $file: { sha256, contentType } } : { source: "upload", sha256 };
}

/** Matches `$file`, the key that marks a stored file, and its escaped forms, which begin with more than one `$`. */
const OWN = /^\$+file$/;
const GUARDED = /^\$\$+file$/;

/** Adds a `$` to keys such as `$file` in a step's value, so that they do not look like references to stored files. */
export function guarded(value: Json): Json {
  return mapped(value, (name, item) => [OWN.test(name) ? `$${name}` : name, item]);
}

/** Escapes `source` values within a step's value, so that they cannot refer to another run's files. */
export function guardedSources(value: Json): Json {
  return mapped(value, (name, item) => [name, isOwnSource(name, item) ? `$${item}` : item]);
}

export function plainName(name: string): string {
  return GUARDED.test(name) ? name.slice(1) : name;
}

export function plain(input: Json): Json {
  return mapped(input, (name, item) => [plainName(name), item]);
}

export function plainSource(name: string, value: Json): Json {
  return isOwnSource(name, value) && value.startsWith("$") ? value.slice(1) : value;
}

function mapped(value: Json, change: (name: string, item: Json) => readonly [string, Json]): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => mapped(item, change));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => change(name, mapped(item, change))));
}
