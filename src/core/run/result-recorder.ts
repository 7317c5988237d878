import type { RunEvent } from "../journal/events.ts";
import type { RunState } from "../journal/state.ts";
import { activeMs, drivenSince } from "../journal/state.ts";
import type { CacheEntry, StoredResult } from "../journal/store.ts";
import { traitsOf } from "../plan/index.ts";
import type { PlanStep } from "../plan/plan.ts";
import { stepNamed } from "../plan/plan-index.ts";
import { runKind } from "./kinds/index.ts";
import { currentIdentity, isCacheable } from "./request-identity.ts";

/**
 * How long a finished step took: its job from the acceptance on, so that waits for slots, money, people and rate limits do
 * not count. Null where nothing ran, or where it was in flight before `since`, from when on the run was driven without a gap:
 * nobody looked for its end then.
 */
export function tookOf(state: RunState, plan: PlanStep, since: number): number | null {
  const step = state.steps[plan.path]!;
  const isOwn = step.status === "succeeded" && step.reusedFrom === null && traitsOf(plan).modality !== null;
  const span = isOwn ? runKind(plan.kind).workedSpan(step) : null;
  if (span === null || (span.from < since && span.to >= since)) return null;
  const ms = Math.max(1, Math.round(span.to - span.from));
  return ms > activeMs(state) ? null : ms;
}

const FREE_AT_ONCE = 1_000;

/**
 * Which results of a run later runs may reuse. A step is recorded once it succeeded and the content of all its inputs is
 * known, which may be later: a download can end after the step that used the asset has finished.
 */
export class ResultRecorder {
  readonly #open = new Set<string>();
  /** Whether the journal may have some of the open ones. */
  #mayBeStored: boolean;
  /** Finished local functions: what they made was free, so that many are recorded at once. */
  readonly #free = new Set<string>();
  /** Since when the run was driven without a gap. */
  readonly #since: number;

  /** Steps that finished before count as open: a crashed process may not have recorded them. */
  constructor(state: RunState) {
    for (const { path, status } of Object.values(state.steps)) if (status === "succeeded") this.#open.add(path);
    this.#mayBeStored = this.#open.size > 0;
    this.#since = drivenSince(state);
  }

  /** Whether {@link noteStored} comes before {@link due} for these events: steps that finished before are looked at. */
  asksForStored(events: readonly RunEvent[], last: boolean): boolean {
    return this.#mayBeStored && (last || events.some(isNews));
  }

  /** What the journal has of these steps, as they finished last, is not recorded again. */
  noteStored(state: RunState, stored: readonly StoredResult[]): void {
    this.#mayBeStored = false;
    for (const { step, at } of stored) if (at >= (state.steps[step]?.finishedAt ?? 0)) this.#open.delete(step);
  }

  /** The results to record after these events; with `last` also those whose inputs will never be known by content. */
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

  /** Marks these as committed to the journal. */
  recorded(results: readonly CacheEntry[]): void {
    for (const { step } of results) this.#open.delete(step);
  }
}

/** Whether the content of an input may be known now. */
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
