import type { RunEvent } from "../journal/events.ts";
import type { RunState } from "../journal/state.ts";
import type { CacheEntry } from "../journal/store.ts";
import { stepNamed } from "./plan-index.ts";
import { currentIdentity, isCacheable } from "./request-identity.ts";

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
  return [{ step: path, fingerprint: now.fingerprint, model: plan.kind === "task" ? null : plan.model }];
}
