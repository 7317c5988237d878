import { cleanText } from "../../core/kit/clean-text.ts";
import { formatUsd } from "../../core/kit/money.ts";
import { isReference, type Reference, traitsOf } from "../../core/plan/index.ts";
import {
  type RunView as Folded,
  type StepView as FoldedStep,
  type OutputState,
  openDecisions,
  outputsOf,
  placedFile,
  type RunRow,
  type RunState,
  referenced,
  referencedValue,
  runSummary,
} from "../../internal.ts";
import type { MediaView, RunLine, RunView, StepView, WaitingView } from "../browser/index.ts";
import { isDecided, kindOfType, runText, stepText } from "../served/index.ts";
import { fileAddress } from "./addresses.ts";
import { ENDPOINT } from "./callers.ts";
import type { Context } from "./options.ts";

const MOST_STEPS = 500;

const MOST_QUESTION = 500;

export function runView(context: Context, { state, steps }: Folded, isInterrupted: boolean): RunView {
  const run = runSummary(state, { isInterrupted });
  const isGoingOn = isDecided(state);
  const now = Date.now();
  const media = (step: string, output: OutputState) => mediaView(context, state, step, output, now);
  return {
    id: run.id,
    seq: state.seq,
    pipeline: run.tags[ENDPOINT] ?? run.pipeline,
    title: run.title ?? run.id,
    status: isGoingOn ? "running" : run.status,
    message: runText(state, isInterrupted, { audience: "customer", hasEngine: context.options.engine !== undefined }),
    pause: isGoingOn ? null : (state.pause?.reason ?? null),
    usd: { quoted: usd(run.quoteMicros), spent: formatUsd(run.spentMicros), held: formatUsd(run.heldMicros) },
    createdAt: run.createdAt,
    finishedAt: run.finishedAt,
    stepCount: steps.length,
    steps: steps.slice(0, MOST_STEPS).map((step) => stepView(state, step, media)),
    waiting: openDecisions(state).map(({ step, message: asked }) => waitingView(state, step, asked, media)),
    outputs: returned(state, media),
  };
}

type Media = (step: string, output: OutputState) => MediaView | null;

function stepView(state: RunState, { path, kind, phase }: FoldedStep, media: Media): StepView {
  const step = state.steps[path]!;
  const outputs = outputsOf(step).flatMap((output) => media(path, output) ?? []);
  return { path, kind, phase, reason: stepText(state, step), media: outputs };
}

function waitingView(state: RunState, path: string, question: string | null, media: Media): WaitingView {
  const plan = state.planned.plan.steps.find((step) => step.path === path)!;
  const { standsFor, isChoice } = traitsOf(plan);
  const shown = standsFor.flatMap(({ $ref }) => ($ref.as === "value" ? [] : referenced(state, $ref)));
  return {
    step: path,
    message: question === null ? null : cleanText(question, MOST_QUESTION),
    media: shown.flatMap(({ step, output }) => media(step, output) ?? []),
    values: standsFor.flatMap(({ $ref }) => ($ref.as === "value" ? [referencedValue(state, $ref) ?? null] : [])),
    choose: isChoice,
  };
}

function mediaView(
  context: Context,
  state: RunState,
  step: string,
  output: OutputState,
  now: number,
): MediaView | null {
  const { copy, width, height, durationMs } = output;
  if (copy === null) return null;
  const { sha256, contentType } = copy;
  const url = fileAddress(context, { runId: state.runId, sha256, contentType }, now);
  const file = placedFile(state, step, output.index)?.file ?? null;
  return { url, kind: kindOfType(contentType), contentType, name: file, width, height, durationMs };
}

function returned(state: RunState, media: Media): RunView["outputs"] {
  const one = ({ $ref }: Reference): unknown => {
    if ($ref.as === "value") return referencedValue(state, $ref) ?? null;
    // The caller already has the files that it sent.
    if ($ref.as === "upload") return null;
    const all = referenced(state, $ref).map(({ step, output }) => {
      return output.voiceId === null ? media(step, output) : { voiceId: output.voiceId };
    });
    return $ref.output === "all" ? all : (all[0] ?? null);
  };
  const map = (value: unknown): unknown => {
    if (isReference(value)) return one(value);
    if (Array.isArray(value)) return value.map(map);
    return Object.fromEntries(Object.entries(value as object).map(([name, item]) => [name, map(item)]));
  };
  return map(state.planned.plan.returns) as RunView["outputs"];
}

export function runLine({ runId, lastSeq, tags, pipeline, title, status, createdAt }: RunRow): RunLine {
  const name = tags[ENDPOINT] ?? pipeline;
  return { id: runId, seq: lastSeq, pipeline: name, title: title ?? runId, status, createdAt };
}

function usd(micros: number | null): string | null {
  return micros === null ? null : formatUsd(micros);
}
