import { expect } from "vitest";
import type { StoredEvent } from "../../../src/journal/events.ts";
import { RunView } from "../../../src/run/view/run-view.ts";

/** All that a view says. */
function picture(view: RunView) {
  const { state, steps, removed, spans, incidents, rests } = view;
  const leftOver = removed.filter(({ path }) => view.step(path) !== undefined);
  return structuredClone({ state, steps, removed, leftOver, spans, incidents, rests });
}

/** A view that was looked at and patched with each event says the same as one made from all of them at once. */
export function expectPatchedView(events: readonly StoredEvent[]): void {
  const patched = new RunView(events[0]!);
  for (const [at, stored] of events.slice(1).entries()) {
    const before = patched.steps;
    patched.add(stored);
    const untouched = patched.steps.filter((step, index) => step === before[index]);
    const folded = RunView.of(events.slice(0, at + 2))!;
    if (untouched.length < patched.steps.length || at % 8 === 0) expect(picture(patched)).toEqual(picture(folded));
    // What was not made anew is what it would be.
    for (const step of untouched) expect(step).toEqual(folded.step(step.path));
  }
}
