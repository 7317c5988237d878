import { randomUUID } from "node:crypto";
import { isStepFinal, type RerunRequest, type RunState } from "../../journal/state.ts";
import { own } from "../../kit/own.ts";
import { matchesPattern } from "../../plan/profile.ts";
import type { RequestedRerun } from "../../run/revise.ts";
import { isMadeUpFor, madeAgainFor } from "../../run/second-choice.ts";
import { InvalidOptionError } from "../errors.ts";
import type { ResumeOptions } from "../options/options.ts";

export type RerunOptions = Pick<ResumeOptions, "rerun" | "rerunFailed" | "requestId">;

/** The steps requested beyond the open requests; and the requests that the others continue. */
export interface ResolvedRerun {
  readonly request: RequestedRerun | null;
  readonly inProgress: readonly RerunRequest[];
}

/**
 * A command that is repeated, because the one before was killed or its answer got lost, continues with the request that is
 * under way. Under an id of the caller's own it does so however long ago that request was finished.
 */
export function resolveRerunRequest(state: RunState, how: RerunOptions): ResolvedRerun {
  const { requestId } = how;
  const requested = how.rerun ?? [];
  const isOpenEnded = how.rerunFailed === true || requested.some(isPattern);
  if (requestId !== undefined) checkRequestId(requestId, isOpenEnded || requested.length > 0);
  const known = state.reruns.find((request) => request.requestId === requestId);
  // A pattern keeps the steps that it matched when it was requested.
  if (known !== undefined && isOpenEnded) return { request: null, inProgress: [known] };
  const open = state.reruns.filter(({ isOpen }) => isOpen);
  const failed = how.rerunFailed === true ? failedSteps(state) : [];
  if (how.rerunFailed === true && failed.length + open.length === 0) throw nothingFailed(state);
  const continued = how.rerunFailed === true && failed.length === 0 ? open : [];
  const named = [...requested.flatMap((name) => namedBy(state, name)), ...failed];
  const steps = [...new Set(named.map((path) => own(state.formerNames, path) ?? path))];
  if (steps.length === 0) return { request: null, inProgress: continued };
  if (requestId !== undefined) {
    if (known === undefined) return { request: { requestId, steps }, inProgress: [] };
    checkSameSteps(known, steps);
    return { request: null, inProgress: [known] };
  }
  const inProgress = state.reruns.filter((request) => request.isOpen && steps.some((path) => isFor(request, path)));
  const more = steps.filter((path) => !inProgress.some((request) => isFor(request, path)));
  return { request: more.length === 0 ? null : { requestId: randomUUID(), steps: more }, inProgress };
}

function isFor({ steps }: RerunRequest, path: string): boolean {
  return steps.includes(path);
}

function isPattern(name: string): boolean {
  return name.includes("*");
}

/** The step of this name, or the finished steps that match the pattern. */
function namedBy(state: RunState, name: string): readonly string[] {
  if (!isPattern(name)) return [name];
  const fitting = state.planned.plan.steps.filter(({ path }) => matchesPattern(name, path));
  const finished = fitting.filter(({ path }) => isStepFinal(state.steps[path]!.status));
  if (finished.length > 0) return finished.map(({ path }) => path);
  const why = fitting.length === 0 ? "no step has that name" : "none of its steps is finished";
  throw new InvalidOptionError("rerun", `${name}: ${why}.`, `showrunner show ${state.runId}`);
}

/**
 * Steps that failed by themselves, in part too, and that no second choice made up for; an expansion fails by its steps, once
 * it has some.
 */
function failedSteps(state: RunState): readonly string[] {
  return state.planned.plan.steps.flatMap(({ path }) => {
    const { status, expanded } = state.steps[path]!;
    const hasFailed = (status === "failed" || status === "partial") && expanded === null;
    return hasFailed && !isMadeUpFor(state, path) ? (madeAgainFor(state, path) ?? []) : [];
  });
}

function nothingFailed({ runId, status }: RunState): InvalidOptionError {
  const why = `no step of run "${runId}", which is ${status}, has failed.`;
  return new InvalidOptionError("rerunFailed", why, `showrunner show ${runId}`);
}

function checkRequestId(requestId: string, isRerun: boolean): void {
  if (!/^[\w.:-]{1,100}$/.test(requestId)) {
    const message = "is 1 to 100 letters, digits, `.`, `_`, `:` or `-`; give this request an id of your own.";
    throw new InvalidOptionError("requestId", message);
  }
  if (!isRerun) throw new InvalidOptionError("requestId", "names a rerun; say which steps too.");
}

function checkSameSteps({ requestId, steps }: RerunRequest, requested: readonly string[]): void {
  if (steps.length === requested.length && requested.every((path) => steps.includes(path))) return;
  const message = `${requestId} was the request to rerun ${steps.join(", ")}; use another id for other steps.`;
  throw new InvalidOptionError("requestId", message);
}
