import type { RunEvent } from "../journal/events.ts";
import { lastAttempt, type RunState, type StepState } from "../journal/state.ts";
import type { CacheEntry } from "../journal/store.ts";
import type { Json } from "../plan/plan.ts";
import { commandId } from "./command.ts";
import type { DecisionBuilder } from "./decision-builder.ts";
import { stepNamed } from "./plan-index.ts";
import {
  type CacheableStep,
  currentIdentity,
  isCacheable,
  type RequestIdentity,
  requestIdentity,
} from "./request-identity.ts";

/**
 * Whether a step waits for an answer to the question if an earlier run made the very same; asks it where that is due.
 * Asked once, before the step's first attempt, and never of a step that somebody wants made again.
 */
export function awaitCacheLookup(plan: CacheableStep, step: StepState, input: Json, builder: DecisionBuilder): boolean {
  if (builder.state.planned.reuse !== true || step.rerunRequested || hasBegun(step)) return false;
  const id = commandId({ type: "reuse", step: plan.path, fingerprint: "" });
  if (builder.isActive(id)) return true;
  if (builder.context.notBefore.get(id) === Number.POSITIVE_INFINITY) return false;
  const { fingerprint, pending } = requestIdentity(builder.state, plan, input);
  // What it takes in is known by content only once its copy is here; one that does not come is not waited for.
  if (pending.some((output) => hasFailed(output, builder))) return false;
  if (pending.length === 0) builder.issue({ type: "reuse", step: plan.path, fingerprint });
  return true;
}

/** Whether copying the output was tried in vain. */
function hasFailed({ step, index }: RequestIdentity["pending"][number], { state, context }: DecisionBuilder): boolean {
  const { n: attempt, jobId } = lastAttempt(state.steps[step]!)!;
  return context.notBefore.has(commandId({ type: "download", step, attempt, jobId: jobId!, index }));
}

function hasBegun(step: StepState): boolean {
  return step.chats.length > 0 || step.failures.length > 0 || step.attempts.some(({ key }) => key !== null);
}

/**
 * Which steps of a run later runs may take over. A step is noted once it succeeded and the content of all it took in is
 * known, which may be later: a copy can arrive after the step that used its original is through.
 */
export class ResultRecorder {
  readonly #open: Set<string>;

  /** Steps that were through before count as open: a process that is gone may not have noted them. */
  constructor(state: RunState) {
    const through = Object.values(state.steps).filter(({ status }) => status === "succeeded");
    this.#open = new Set(through.map(({ path }) => path));
  }

  /** What is to be noted after these events; `last` also what will never be known any better. */
  due(state: RunState, events: readonly RunEvent[], last: boolean): readonly CacheEntry[] {
    let isNews = last;
    for (const event of events) {
      if (event.type === "output.downloaded" || event.type === "output.expired") isNews = true;
      if (event.type !== "step.finished" || event.status !== "succeeded") continue;
      isNews = true;
      this.#open.add(event.step);
    }
    return isNews ? [...this.#open].flatMap((path) => note(state, path, last)) : [];
  }

  /** These are in the journal now. */
  recorded(results: readonly CacheEntry[]): void {
    for (const { step } of results) this.#open.delete(step);
  }
}

function note(state: RunState, path: string, last: boolean): readonly CacheEntry[] {
  const plan = stepNamed(state.planned.plan, path);
  if (plan === undefined || !isCacheable(plan) || state.steps[path]?.status !== "succeeded") return [];
  const now = currentIdentity(state, plan);
  if (now === null || (now.pending.length > 0 && !last)) return [];
  return [{ step: path, fingerprint: now.fingerprint, model: "model" in plan ? plan.model : null }];
}
