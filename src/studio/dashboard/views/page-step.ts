import { type Reference, referencesOf, traitsOf } from "../../../core/plan/index.ts";
import type { RunState, RunView, StepView as Step } from "../../../core/view/index.ts";
import type { PlanStep, Quote } from "../../../index.ts";
import { kindOfType, notFound } from "../../served/index.ts";
import { blankMedia, type PageMedia } from "./page-media.ts";

type StepState = RunState["steps"][string];
type OutputState = Step["outputs"][number];

interface OutputRef {
  readonly step: string;
  readonly index: number;
}

interface Ref {
  readonly step: string;
  readonly output: number | "all" | "chosen";
}

const MOST_COMMENTS = 100;

export type PageComment = NonNullable<ReturnType<typeof decisionOf>>["comments"][number];

export function decisionOf(run: RunView, plan: PlanStep, step: StepState) {
  const { standsFor: refs, isChoice, subject, decision } = traitsOf(plan);
  if (refs.length === 0) return null;
  const offered = refs.flatMap(({ $ref }) => ($ref.as === "value" ? [] : outputsAt(run, $ref)));
  const { chosen, approval } = step;
  const compared = decision === null ? null : run.compared(decision);
  const pick =
    chosen === null ? -1 : offered.findIndex(({ step, index }) => step === chosen.step && index === chosen.index);
  return {
    shows: offered.map((ref) => viewAt(run, ref)),
    values: refs.flatMap(({ $ref }) => ($ref.as === "value" ? valueView(run, $ref) : [])),
    choose: isChoice,
    message: subject === null ? null : cut(subject, 2000),
    approved: approval?.approved ?? null,
    note: approval?.note == null ? null : cut(approval.note, 2000),
    pick: pick < 0 ? null : pick,
    compared: compared?.map((part) => ({ ...part, missing: part.missing && cut(part.missing, 300) })) ?? null,
    comments: (step.comments ?? []).slice(-MOST_COMMENTS).map(({ text, take, timeMs, at, by }) => {
      const position = offered.findIndex((one) => one.step === take?.step && one.index === take.index);
      const name = by === null ? null : cut(by.name, 100);
      // A comment without a name is the operator's. A comment without a take is about everything shown.
      return { text: cut(text, 2000), name, take: position < 0 ? null : position, timeMs, at };
    }),
  };
}

export function decisionAt({ state: { planned } }: RunView, path: string | null) {
  const plan = planned.plan.steps.find((step) => step.path === path);
  const decision = plan === undefined ? null : traitsOf(plan).decision;
  if (decision === null) throw notFound("This decision");
  return decision;
}

function valueView(run: RunView, ref: Reference["$ref"]) {
  const value = run.value(ref);
  return value === undefined ? [] : [{ step: ref.step, value: cutJson(value, 8000).value }];
}

function outputsAt(run: RunView, ref: Ref): readonly OutputRef[] {
  const step = run.state.steps[ref.step];
  if (step === undefined) return [];
  if (step.chosen !== null) return [step.chosen];
  if (step.expanded !== null) return step.expanded.flatMap(({ $ref }) => outputsAt(run, $ref));
  const there = run.outputs(ref.step).filter(({ status, phase }) => status === "COMPLETED" && phase !== "expired");
  const requested = ref.output === "chosen" ? 0 : ref.output;
  return there
    .filter(({ index }) => requested === "all" || index === requested)
    .map(({ index }) => ({ step: ref.step, index }));
}

function viewAt(run: RunView, { step: path, index }: OutputRef): PageMedia {
  const output = run.outputs(path).find((one) => one.index === index);
  return output === undefined ? { ...blankMedia(path, index), state: "pending" } : outputView(run, path, output);
}

export type PageStep = ReturnType<typeof stepView>;

/** Describes a step for the page. `run` is null for a step that is only planned. */
export function stepView(run: RunView | null, step: Step) {
  const { plan, quote, current, attempts, error, outputs, value, chosen, approval, ...same } = step;
  const price: Pick<Quote["prices"][number], "costMicros" | "basis"> | null = quote;
  const own = run?.state.steps[step.path];
  const { noun, icon, decision, expansion, provider } = traitsOf(plan);
  const isVisual = plan.yields === "image" || plan.yields === "video";
  return {
    ...same,
    /** Price of the current attempt or, before the first attempt, the planned price. */
    quote: price,
    noun,
    icon,
    isOfProvider: provider !== null,
    hasPicture: isVisual && decision === null && expansion === null,
    yields: plan.yields,
    needs: run === null ? plan.needs : linksOf(run.state, plan),
    reason: own?.status === "unresolved" ? run!.unresolved(step.path) : reasonOf(step),
    ask: askOf(plan),
    attempts: attempts.map(attemptView),
    media: run === null || own === undefined ? [] : mediaOf(run, own),
    voiceId: outputs.find(({ voiceId }) => voiceId !== null)?.voiceId ?? null,
    decision: run === null || own === undefined ? null : decisionOf(run, plan, own),
    /** Outputs that were rejected by this step or by a step whose result it passes on. */
    refused: run === null || own === undefined ? [] : refusedOf(run, plan),
    isRemoved: run?.state.removedSteps.includes(plan) ?? false,
  };
}

function linksOf(state: RunState, plan: PlanStep): readonly string[] {
  const needs = plan.needs.flatMap((need) => returnedBy(state, need));
  const within = expansionAround(state, plan.path);
  const isFirst = within !== null && !needs.some((need) => need.startsWith(`${within}/`));
  return [...new Set(isFirst ? [within, ...needs] : needs)];
}

function returnedBy(state: RunState, path: string): readonly string[] {
  const expanded = state.steps[path]?.expanded ?? [];
  return expanded.length === 0 ? [path] : expanded.flatMap(({ $ref }) => returnedBy(state, $ref.step));
}

function expansionAround(state: RunState, path: string): string | null {
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    const around = path.slice(0, end);
    if (Object.hasOwn(state.steps, around) && state.steps[around]!.expanded !== null) return around;
  }
  return null;
}

function attemptView({ input, outputs, error, ...attempt }: Step["attempts"][number]) {
  return {
    ...attempt,
    // `site` is the place in the user's code where a local function threw.
    error: error === null ? null : { code: error.code, message: cut(error.message, 500), site: error.site ?? null },
  };
}

function reasonOf({ reason, status, error }: Step): string | null {
  const said = reason ?? (status === "failed" ? (error?.message ?? null) : null);
  return said === null ? null : cut(said, 500);
}

function askOf(plan: PlanStep): string | null {
  const { subject } = traitsOf(plan);
  if (subject !== null) return cut(subject, 200);
  if (!("input" in plan)) return null;
  const input = plan.input;
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  for (const name of ["prompt", "text", "name"]) {
    const value = (input as { readonly [name: string]: unknown })[name];
    if (typeof value === "string") return cut(value, 200);
  }
  return null;
}

export function mediaOf(run: RunView, step: StepState): readonly PageMedia[] {
  if (step.upload !== null)
    return [{ ...blankMedia(step.path, "upload"), ...stored(run.state, step.path, "upload", step.upload) }];
  return run
    .outputs(step.path)
    .filter(({ voiceId }) => voiceId === null)
    .map((output) => outputView(run, step.path, output));
}

const MOST_EARLIER = 24;

/** Returns the media of a step's superseded attempts. For a decision, returns those of the steps that it shows. */
export function earlierOf(view: RunView, { path, plan }: Step) {
  const { state } = view;
  const { standsFor } = traitsOf(plan);
  const paths = standsFor.length === 0 ? [path] : standsFor.flatMap(({ $ref }) => madeBy(state, $ref.step));
  const found = [...new Set(paths)].flatMap((one) => {
    const attempts = view.step(one)?.attempts.filter(({ isSuperseded }) => isSuperseded) ?? [];
    return attempts.flatMap(({ n, outputs }) =>
      outputs.flatMap(({ index, copy }) =>
        copy === null ? [] : [{ ...blankMedia(one, index), ...stored(state, one, index, copy, n), attempt: n }],
      ),
    );
  });
  return found.toSorted((a, b) => b.attempt - a.attempt).slice(0, MOST_EARLIER);
}

/** Returns the steps that actually produced a step's results, not the steps that only passed them on. */
function madeBy(state: RunState, path: string): readonly string[] {
  const plan = state.planned.plan.steps.find((step) => step.path === path);
  const passed = state.steps[path]?.expanded ?? (plan === undefined ? [] : traitsOf(plan).standsFor);
  return passed.length === 0 ? [path] : passed.flatMap(({ $ref }) => madeBy(state, $ref.step));
}

function refusedOf(run: RunView, { path }: PlanStep) {
  return run.refused(path).map(({ step, reason, shows }) => {
    const shown = shows.flatMap((output) => {
      const made = run.state.steps[output.step];
      return made?.upload != null ? mediaOf(run, made) : [viewAt(run, output)];
    });
    return { step, reason: cut(reason, 1000), shows: shown };
  });
}

export function usedMedia(run: RunView, plan: PlanStep): readonly Pick<PageMedia, "step" | "index">[] {
  const refs = "input" in plan ? referencesOf(plan.input) : [];
  return refs.flatMap((ref): readonly Pick<PageMedia, "step" | "index">[] =>
    run.state.steps[ref.step]?.upload != null ? [{ step: ref.step, index: "upload" }] : outputsAt(run, ref),
  );
}

function outputView(run: RunView, path: string, output: OutputState): PageMedia {
  const { index, status, voiceId, phase, copy, uncopied, error, ...facts } = output;
  const placed = run.placed(path, index);
  return {
    ...blankMedia(path, index),
    ...facts,
    kind: kindOfType(facts.contentType),
    state: phase,
    error: error === null ? null : cut(error.message, 300),
    name: placed?.name ?? null,
    file: placed?.file ?? null,
    ...(copy !== null && stored(run.state, path, index, copy)),
  };
}

type Copy = NonNullable<OutputState["copy"]>;

/** Describes a stored file. Its URL contains the hash, so that browsers never show an older version. */
function stored(
  { runId }: RunState,
  step: string,
  index: PageMedia["index"],
  { contentType, sizeBytes, sha256 }: Copy,
  attempt?: number,
) {
  const query = `v=${sha256.slice(0, 12)}${attempt === undefined ? "" : `&attempt=${attempt}`}`;
  const url = `/media/${encodeURIComponent(runId)}/${encodeURIComponent(step)}/${index}?${query}`;
  return { kind: kindOfType(contentType), contentType, sizeBytes, sha256, url };
}

export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  // The end must not be in the middle of a surrogate pair.
  const end = /[\uD800-\uDBFF]/.test(text[most - 2] ?? "") ? most - 2 : most - 1;
  return `${text.slice(0, end)}…`;
}

interface Cut {
  readonly value: unknown;
  readonly isCut: boolean;
}

export function cutJson(value: unknown, mostText = 4000, mostParts = 500): Cut {
  let parts = 0;
  let isCut = false;
  const walk = (part: unknown): unknown => {
    parts += 1;
    if (parts > mostParts) {
      isCut = true;
      return "…";
    }
    if (typeof part === "string") {
      if (part.length > mostText) isCut = true;
      return cut(part, mostText);
    }
    if (Array.isArray(part)) return few(part).map(walk);
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(few(Object.entries(part)).map(([name, item]) => [cut(name, 200), walk(item)]));
  };
  const few = <T>(items: readonly T[]): readonly T[] => {
    if (items.length > mostParts) isCut = true;
    return items.slice(0, mostParts);
  };
  return { value: walk(value), isCut };
}
