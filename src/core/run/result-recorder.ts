import type { RunEvent } from "../journal/events.ts";
import { activeMs, drivenSince, type RunState } from "../journal/state.ts";
import type { CacheEntry, StoredResult } from "../journal/store.ts";
import { type PlanStep, stepNamed, traitsOf } from "../plan/plan.ts";
import { runKind } from "./kinds/index.ts";
import { currentIdentity, isCacheable } from "./request-identity.ts";

export function tookOf(state: RunState, plan: PlanStep, since: number): number | null {
  const step = state.steps[plan.path]!;
  const isOwn = step.status === "succeeded" && step.reusedFrom === null && traitsOf(plan).modality !== null;
  const span = isOwn ? runKind(plan.kind).workedSpan(step) : null;
  if (span === null || (span.from < since && span.to >= since)) return null;
  const ms = Math.max(1, Math.round(span.to - span.from));
  return ms > activeMs(state) ? null : ms;
}

const FREE_AT_ONCE = 1_000;

/** Records a step's result for reuse once the step has succeeded and the content of its inputs is known. */
export class ResultRecorder {
  readonly #open = new Set<string>();
  #mayBeStored: boolean;
  readonly #free = new Set<string>();
  readonly #since: number;

  /** Treats all succeeded steps as unrecorded, because an earlier process may have crashed before recording them. */
  constructor(state: RunState) {
    for (const { path, status } of Object.values(state.steps)) if (status === "succeeded") this.#open.add(path);
    this.#mayBeStored = this.#open.size > 0;
    this.#since = drivenSince(state);
  }

  asksForStored(events: readonly RunEvent[], last: boolean): boolean {
    return this.#mayBeStored && (last || events.some(isNews));
  }

  noteStored(state: RunState, stored: readonly StoredResult[]): void {
    this.#mayBeStored = false;
    for (const { step, at } of stored) if (at >= (state.steps[step]?.finishedAt ?? 0)) this.#open.delete(step);
  }

  /** Returns the results to record now. If `last` is true, also returns those whose inputs were never downloaded. */
  due(state: RunState, events: readonly RunEvent[], last: boolean): readonly CacheEntry[] {
    let looksAtOpen = last;
    const finished: string[] = [];
    for (const event of events) {
      looksAtOpen ||= isNews(event);
      if (event.type === "step.finished" && event.status === "succeeded") finished.push(event.step);
    }
    const due = new Set<string>();
    for (const path of finished) {
      const plan = stepNamed(state.planned.plan, path);
      if (plan !== undefined && "model" in plan) due.add(path);
      else this.#free.add(path);
    }
    if (last || this.#free.size >= FREE_AT_ONCE) {
      for (const path of this.#free) due.add(path);
      this.#free.clear();
    }
    for (const path of due) this.#open.add(path);
    return [...(looksAtOpen ? this.#open : due)].flatMap((path) => note(state, path, last, this.#since));
  }

  recorded(results: readonly CacheEntry[]): void {
    for (const { step } of results) this.#open.delete(step);
  }
}

function isNews({ type }: RunEvent): boolean {
  return type === "output.downloaded" || type === "output.expired";
}

function note(state: RunState, path: string, last: boolean, since: number): readonly CacheEntry[] {
  const plan = stepNamed(state.planned.plan, path);
  if (plan === undefined || !isCacheable(plan) || state.steps[path]?.status !== "succeeded") return [];
  const now = currentIdentity(state, plan);
  if (now === null || (now.pending.length > 0 && !last)) return [];
  const tookMs = "model" in plan ? tookOf(state, plan, since) : null;
  const model = "model" in plan ? plan.model : null;
  return [{ step: path, fingerprint: now.fingerprint, model, ...(tookMs !== null && { tookMs }) }];
}
