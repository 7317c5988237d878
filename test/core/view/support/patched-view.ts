import { expect } from "vitest";
import type { StoredEvent } from "../../../../src/core/journal/events.ts";
import type { RunView } from "../../../../src/core/view/run-view.ts";
import { FoldedRun, type RunHistory } from "../../../../src/core/view/run-view.ts";

/** The complete contents of a view and a history. */
function picture(view: RunView, history: RunHistory) {
  const { state, steps, removed } = view;
  const { spans } = history;
  const incidents = history.incidents(state);
  const leftOver = removed.filter(({ path }) => view.step(path) !== undefined);
  return structuredClone({ state, steps, removed, leftOver, spans, incidents });
}

/** Expects that a view that is patched with each event has the same contents as a view made from all events. */
export function expectPatchedView(events: readonly StoredEvent[]): void {
  const { view, history } = FoldedRun.of(events.slice(0, 1));
  const patched = view!;
  for (const [at, stored] of events.slice(1).entries()) {
    const before = patched.steps;
    patched.add(stored);
    history.add(stored, patched.state);
    const untouched = patched.steps.filter((step, index) => step === before[index]);
    const folded = FoldedRun.of(events.slice(0, at + 2));
    const whole = folded.view!;
    if (untouched.length < patched.steps.length || at % 8 === 0)
      expect(picture(patched, history)).toEqual(picture(whole, folded.history));
    // What was not made anew is what it would be.
    for (const step of untouched) expect(step).toEqual(whole.step(step.path));
  }
}
