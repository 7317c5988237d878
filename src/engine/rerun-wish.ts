import { randomUUID } from "node:crypto";
import type { RerunRequest, RunState } from "../journal/state.ts";
import type { RerunWish } from "../run/revise.ts";
import { InvalidOptionError } from "./errors.ts";
import type { ResumeOptions } from "./showrunner.ts";

export type RerunOptions = Pick<ResumeOptions, "rerun" | "requestId">;

/** What is asked for beyond what was asked for already; and the requests that the rest goes on with. */
export interface KnownWish {
  readonly request: RerunWish | null;
  readonly inProgress: readonly RerunRequest[];
}

/**
 * A command that is repeated, because the one before was killed or its answer got lost, goes on with the request that is
 * under way. Under an id of the caller's own it does so however long ago that request was finished.
 */
export function rerunWish(state: RunState, { rerun = [], requestId }: RerunOptions): KnownWish {
  checkRequestId(requestId, rerun);
  const steps = [...new Set(rerun.map((path) => state.formerNames[path] ?? path))];
  if (steps.length === 0) return { request: null, inProgress: [] };
  if (requestId !== undefined) {
    const known = state.reruns.find((request) => request.requestId === requestId);
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

function checkRequestId(requestId: string | undefined, rerun: readonly string[]): void {
  if (requestId === undefined) return;
  if (!/^[\w.:-]{1,100}$/.test(requestId)) {
    const message = "is 1 to 100 letters, digits, `.`, `_`, `:` or `-`; give a name of your own for this one wish.";
    throw new InvalidOptionError("requestId", message);
  }
  if (rerun.length === 0) throw new InvalidOptionError("requestId", "names a rerun; say which steps too.");
}

function checkSameSteps({ requestId, steps }: RerunRequest, wanted: readonly string[]): void {
  if (steps.length === wanted.length && wanted.every((path) => steps.includes(path))) return;
  const message = `${requestId} was the request to make ${steps.join(", ")} again; use another id for other steps.`;
  throw new InvalidOptionError("requestId", message);
}
