import { traitsOf } from "../../plan/index.ts";
import type { PlanStep, Problem, SubmittingStep } from "../../plan/plan.ts";
import { suggest } from "../../plan/suggest.ts";
import { type EstimateCache, MOST_VOICES, type NamedVoice } from "./estimates.ts";
import type { StepPrice } from "./step-price.ts";

const FIELD = "input.voice_id";
/** Voices that a message lists at most. */
const LISTED = 8;

/**
 * Voices that are written down and that their model does not have, with those that may be meant. A service that quoted
 * the very input has the last word: it knows voices that it does not list.
 */
export async function voiceProblems(
  steps: readonly PlanStep[],
  prices: readonly StepPrice[],
  refused: readonly Problem[],
  estimates: EstimateCache,
): Promise<readonly Problem[]> {
  const reported = new Set(refused.filter(({ field }) => field !== FIELD).map(({ step }) => step));
  const open = steps.flatMap((step, index) => {
    const { submits } = traitsOf(step);
    const id = submits === null ? null : voiceOf(submits);
    if (submits === null || id === null || reported.has(step.path) || isAccepted(prices[index]!)) return [];
    return [{ step: step.path, model: submits.model, id }];
  });
  const problems = open.map(async ({ step, model, id }): Promise<readonly Problem[]> => {
    const voices = await estimates.voices(model);
    if (voices.length === 0 || voices.length === MOST_VOICES || voices.some((voice) => voice.id === id)) return [];
    return [{ code: "unknown-voice", step, field: FIELD, ...unknownVoice(id, model, voices) }];
  });
  return (await Promise.all(problems)).flat();
}

function isAccepted({ basis }: StepPrice): boolean {
  return basis === "quoted" || basis === "reused" || basis === "free";
}

function voiceOf({ input }: SubmittingStep): string | null {
  const id = (input as { readonly voice_id?: unknown } | null)?.voice_id;
  return typeof id === "string" ? id : null;
}

function unknownVoice(id: string, model: string, voices: readonly NamedVoice[]) {
  const named = voices.flatMap(({ id: voice, name }) => (name == null ? [] : [[name, voice] as const]));
  const byName = new Map([...named, ...voices.map((voice) => [voice.id, voice.id] as const)]);
  const similar = [...new Set(suggest(id, byName.keys()).map((name) => byName.get(name)!))];
  const listed = voices.slice(0, LISTED);
  const all = listed.map((voice) => voice.id);
  const more = voices.length > LISTED ? `, … and ${voices.length - LISTED} more` : "";
  const meant = similar.length === 0 ? "" : `did you mean ${similar.join(" or ")}? `;
  const message = `${model} has no voice ${JSON.stringify(id)}; ${meant}its voices: ${listed.map(said).join(", ")}${more}`;
  return { message, allowed: similar.length > 0 ? similar : all };
}

function said({ id, name }: NamedVoice): string {
  return name == null || name === id ? id : `${id} (${name})`;
}
