import type { LocalFile } from "../../define/index.ts";
import { planStep } from "../../journal/state.ts";
import { ownText } from "../../kit/clean-text.ts";
import type { PickStep } from "../../plan/kinds/pick.ts";
import { candidatesOf } from "../../run/kinds/pick.ts";
import { isStoreError } from "../media/media-errors.ts";
import { done } from "../service/service-answers.ts";
import type { Effect } from "./effect.ts";
import { withoutCopies } from "./ensure-copies.ts";
import { ABORTED, localCode, localFile, thrownError, unlessAborted } from "./local-code.ts";

export const pick: Effect<"pick"> = async ({ step }, context) => {
  const found = localCode(context, step, "score");
  if ("without" in found) return found.without;
  const { code } = found;
  const { state, media, signal } = context;
  const candidates = candidatesOf(state, planStep(state, step) as PickStep);
  const files = candidates.flatMap((candidate) => candidate?.file?.sha256 ?? []);
  const without = await withoutCopies(files, context);
  if (without !== null) return without;
  await using held = await media.hold(files);
  const scores: (number | null)[] = [];
  // Async, so that a synchronous throw also rejects.
  const scoreOf = async (file: LocalFile, index: number) => code.score({ ...file, index, signal });
  try {
    for (const [index, candidate] of candidates.entries()) {
      const file = candidate?.file ?? null;
      const given = file === null ? null : await unlessAborted(scoreOf(localFile(held, file), index), signal);
      if (given === ABORTED) return done();
      scores.push(given === null ? null : checked(given));
    }
  } catch (error) {
    if (isStoreError(error)) throw error;
    return done({ type: "task.failed", step, error: thrownError(error, "SCORE_FAILED") });
  }
  const best = highest(scores);
  if (best === null) {
    const message = ownText("there are no files to score");
    return done({ type: "task.failed", step, error: { code: ownText("SCORE_FAILED"), message, retryable: false } });
  }
  return done({ type: "pick.decided", step, chosen: candidates[best]!.chosen, scores });
};

function checked(scored: unknown): number {
  if (typeof scored === "number" && Number.isFinite(scored)) return scored;
  throw new TypeError(`the score must be a finite number, but the function returned ${String(scored)}`);
}

function highest(scores: readonly (number | null)[]): number | null {
  let best: number | null = null;
  for (const [index, one] of scores.entries()) {
    if (one !== null && (best === null || one > scores[best]!)) best = index;
  }
  return best;
}
