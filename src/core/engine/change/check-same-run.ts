import type { Pipeline } from "../../define/index.ts";
import type { RunState } from "../../journal/state.ts";
import { tagTexts } from "../../kit/tags.ts";
import { shellWord } from "../../kit/value-text.ts";
import { changesBetween, type FieldChange, type PlanDiff } from "../../plan/index.ts";
import type { Json } from "../../plan/plan.ts";
import { fileOf } from "../../run/next-command.ts";
import { PlanProblemsError, RunDiffersError } from "../errors.ts";
import type { RunOptions } from "../options/options.ts";
import type { Planner } from "../price/planner.ts";
import { isSamePlan } from "./drift.ts";
import { replanRun } from "./replanning.ts";

export async function checkSameRun(
  state: RunState,
  { pipeline, input, options }: { readonly pipeline: Pipeline; readonly input: unknown; readonly options: RunOptions },
  planner: Planner,
): Promise<void> {
  const { planned } = state;
  const differs = (what: readonly string[], next: string) => new RunDiffersError(state.runId, what, next);
  const another = "choose another id";
  if (planned.plan.pipeline !== pipeline.name) {
    throw differs([`it runs pipeline ${planned.plan.pipeline}, not ${pipeline.name}`], another);
  }
  const [was, is] = [planned.profile?.name ?? null, options.profile ?? null];
  if (was !== is) throw differs([`profile: ${was ?? "none"} → ${is ?? "none"}`], another);
  if (options.tags !== undefined) {
    const [had, has] = [tagTexts(planned.tags), tagTexts(options.tags)].map((tags) => tags.join(", ") || "none");
    if (had !== has) throw differs([`tags: ${had} → ${has}`], another);
  }
  const again = await replanRun(state, pipeline, planner, { whole: input });
  if (!again.ok) throw new PlanProblemsError(again.problems);
  const fields = changesBetween(planned.input, again.input);
  if (fields.length === 0 && isSamePlan(planned.plan, again.plan, again.diff)) return;
  const what = [...fields.map(fieldSaid), ...stepsSaid(again.diff)];
  throw differs(what, takeUp(state, again.input, fields, options));
}

function fieldSaid({ field, before, after }: FieldChange): string {
  return `input.${field}: ${said(before)} → ${said(after)}`;
}

const MOST = 60;

function said(value: Json | undefined): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length <= MOST ? text : `${text.slice(0, MOST)}…`;
}

function stepsSaid({ changed, added, removed, renamed }: PlanDiff): readonly string[] {
  return [
    ...changed.map(({ path, fields }) => `${path} changed (${fields.map(({ field }) => field).join(", ")})`),
    ...added.map((path) => `${path} is new`),
    ...removed.map((path) => `${path} was removed`),
    ...renamed.map(({ from, to }) => `${from} was renamed to ${to}`),
  ];
}

function takeUp(state: RunState, input: Json, fields: readonly FieldChange[], { source }: RunOptions): string {
  const named = [...new Set(fields.map(({ field }) => /^[^.[]+/.exec(field)?.[0] ?? field))];
  const now = input as { readonly [field: string]: Json };
  const words = named.map((name) => {
    const value = now[name] ?? null;
    return typeof value === "string" ? `${name}=${value}` : `${name}:=${JSON.stringify(value)}`;
  });
  const file = fileOf(source === undefined ? state : { ...state, planned: { ...state.planned, source } });
  const corrections = words.map((word) => ` -i ${shellWord(word)}`).join("");
  return `showrunner resume ${state.runId} --file ${file}${corrections} --accept-changes   (or choose another --id)`;
}
