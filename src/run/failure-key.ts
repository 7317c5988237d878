import { isStepFinal, type RunState } from "../journal/state.ts";

/** Cached per steps object, which a reload replaces: the key and the event at which it was computed. */
const known = new WeakMap<RunState["steps"], { readonly seq: number; readonly failures: string }>();

/** Names the steps that ended without their full result. Empty: nothing can have become impossible. */
export function failureKey({ steps, seq }: RunState): string {
  const before = known.get(steps);
  if (before?.seq === seq) return before.failures;
  let failures = "";
  for (const path in steps) {
    const { status } = steps[path]!;
    if (status !== "succeeded" && isStepFinal(status)) failures += `${path} ${status}\n`;
  }
  // The same string object until another step fails, so that thousands of comparisons are by reference.
  const unchanged = before?.failures === failures ? before.failures : failures;
  known.set(steps, { seq, failures: unchanged });
  return unchanged;
}
