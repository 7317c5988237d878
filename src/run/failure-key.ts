import { isStepFinal, type RunState } from "../journal/state.ts";

/** By the steps of a state, which a reload replaces: what was found at which event. */
const known = new WeakMap<RunState["steps"], { readonly seq: number; readonly failures: string }>();

/** Names the steps that ended with less than all they were to make. Empty: nothing can have become impossible. */
export function failureKey({ steps, seq }: RunState): string {
  const before = known.get(steps);
  if (before?.seq === seq) return before.failures;
  let failures = "";
  for (const path in steps) {
    const { status } = steps[path]!;
    if (status !== "succeeded" && isStepFinal(status)) failures += `${path} ${status}\n`;
  }
  // The same string as long as nothing is lost: whoever compares thousands of times compares no characters.
  const unchanged = before?.failures === failures ? before.failures : failures;
  known.set(steps, { seq, failures: unchanged });
  return unchanged;
}
