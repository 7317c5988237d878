import { isStepFinal, type RunState } from "../journal/state.ts";

/** By the steps of a state, which a reload replaces: what was found at which event. */
const known = new WeakMap<RunState["steps"], { readonly seq: number; readonly losses: string }>();

/** Names the steps that ended with less than all they were to make. Empty: nothing can have become impossible. */
export function lossesOf({ steps, seq }: RunState): string {
  const before = known.get(steps);
  if (before?.seq === seq) return before.losses;
  let losses = "";
  for (const path in steps) {
    const { status } = steps[path]!;
    if (status !== "succeeded" && isStepFinal(status)) losses += `${path} ${status}\n`;
  }
  // The same string as long as nothing is lost: whoever compares thousands of times compares no characters.
  const unchanged = before?.losses === losses ? before.losses : losses;
  known.set(steps, { seq, losses: unchanged });
  return unchanged;
}
