import type { RunEvent } from "../journal/events.ts";
import type { RunState } from "../journal/state.ts";
import type { MadeStep } from "../journal/store.ts";
import { askedNow, isReusable } from "./asked.ts";
import { stepNamed } from "./plan-index.ts";

/**
 * Which steps of a run later runs may take over. A step is noted once it succeeded and the content of all it took in is
 * known, which may be later: a copy can arrive after the step that used its original is through.
 */
export class MadeNotes {
  readonly #open: Set<string>;

  /** Steps that were through before count as open: a process that is gone may not have noted them. */
  constructor(state: RunState) {
    const through = Object.values(state.steps).filter(({ status }) => status === "succeeded");
    this.#open = new Set(through.map(({ path }) => path));
  }

  /** What is to be noted after these events; `last` also what will never be known any better. */
  due(state: RunState, events: readonly RunEvent[], last: boolean): readonly MadeStep[] {
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
  noted(made: readonly MadeStep[]): void {
    for (const { step } of made) this.#open.delete(step);
  }
}

function note(state: RunState, path: string, last: boolean): readonly MadeStep[] {
  const plan = stepNamed(state.planned.plan, path);
  if (plan === undefined || !isReusable(plan) || state.steps[path]?.status !== "succeeded") return [];
  const now = askedNow(state, plan);
  if (now === null || (now.pending.length > 0 && !last)) return [];
  return [{ step: path, fingerprint: now.fingerprint, model: plan.kind === "task" ? null : plan.model }];
}
