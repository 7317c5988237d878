import type { RunState } from "../../journal/state.ts";
import { stepStates } from "../../lifecycle/index.ts";
import { traitsOf } from "../../plan/index.ts";
import { type ComparedPart, comparedParts } from "./compared.ts";

/** One part of a comparison that is over. */
export interface ScoredPart extends Pick<ComparedPart, "models" | "costMicros" | "tookMs"> {
  /** `made`: another one was chosen, or none. `nothing`: there was nothing to choose. */
  readonly outcome: "chosen" | "made" | "nothing";
}

/** How a model did in comparisons; several models where they made their parts together. */
export interface ModelScore {
  /** In the order of the plan. */
  readonly models: readonly string[];
  /** Parts that it was asked for. */
  readonly compared: number;
  readonly chosen: number;
  readonly madeNothing: number;
  /** What all of them were charged. */
  readonly costMicros: number;
  /** Of those with a bill, to the nearest micro-dollar; null without any. */
  readonly meanCostMicros: number | null;
  /** Of those that made something and were not reused; null without any. */
  readonly meanMs: number | null;
}

/** The parts of a run's `compare` steps that a person decided, or that made nothing at all; without those never asked for. */
export function scoredParts(state: RunState): readonly ScoredPart[] {
  return state.planned.plan.steps.flatMap((plan) => {
    const { decision } = traitsOf(plan);
    if (decision?.parts === undefined) return [];
    const { parts: paths, shows } = decision;
    const { approval, chosen, status } = state.steps[decision.path]!;
    const parts = (comparedParts(state, decision) ?? []).map((part, at): ScoredPart => {
      const isChosen = chosen !== null && `${chosen.step}/`.startsWith(`${paths[at]!}/`);
      // What expired since was made all the same.
      const isMade = stepStates.withResult.has(state.steps[shows[at]!.$ref.step]!.status);
      return { ...part, outcome: isChosen ? "chosen" : isMade ? "made" : "nothing" };
    });
    const isLost = (status === "failed" || status === "skipped") && parts.every(({ outcome }) => outcome === "nothing");
    return approval !== null || isLost ? parts.filter(({ models }) => models.length > 0) : [];
  });
}

/** By model, the one that was chosen most often first; of two alike the one that needed fewer comparisons for it. */
export function scoreModels(parts: readonly ScoredPart[]): readonly ModelScore[] {
  const byModel = Map.groupBy(parts, ({ models }) => models.join(" + "));
  return [...byModel.values()].map(scoreOf).toSorted((a, b) => b.chosen - a.chosen || a.compared - b.compared);
}

function scoreOf(parts: readonly ScoredPart[]): ModelScore {
  const count = (wanted: ScoredPart["outcome"]) => parts.filter(({ outcome }) => outcome === wanted).length;
  const costs = parts.flatMap(({ costMicros }) => costMicros ?? []);
  const times = parts.flatMap(({ outcome, tookMs }) => (outcome === "nothing" ? [] : (tookMs ?? [])));
  return {
    models: parts[0]!.models,
    compared: parts.length,
    chosen: count("chosen"),
    madeNothing: count("nothing"),
    costMicros: sumOf(costs),
    meanCostMicros: meanOf(costs),
    meanMs: meanOf(times),
  };
}

function meanOf(amounts: readonly number[]): number | null {
  return amounts.length === 0 ? null : Math.round(sumOf(amounts) / amounts.length);
}

function sumOf(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0);
}
