import type { FieldChange } from "../plan/index.ts";

/** Why a step is, or is not, taken over from an earlier run. */
export interface StepExplanation {
  readonly step: string;
  /**
   * `reused`: it was (or would be) taken over. `made`: it was (or would be) made. `unknown`: what it consumes does not
   * exist yet, so nobody can say.
   */
  readonly verdict: "reused" | "made" | "unknown";
  /** Where it was made; null unless `reused`. */
  readonly from: { readonly runId: string; readonly step: string } | null;
  /** One sentence: `voice changed: input.voice_id was "voice_a", is "voice_b"`. */
  readonly why: string;
  /** The made step that is most like it, and what is different; null when there is none, or nothing is different. */
  readonly nearest: {
    readonly runId: string;
    readonly step: string;
    readonly changes: readonly FieldChange[];
  } | null;
}
