import type { EffectContext } from "./effect.ts";

const EVERY_MS = 250;

/** Says a few times a second how much of a step's bytes went over the line; more would keep the journal busy for nobody. */
export function bytesProgress(step: string, { progress, now }: Pick<EffectContext, "progress" | "now">) {
  let lastAt = now();
  return (bytes: number, totalBytes: number | null) => {
    if (totalBytes === null || totalBytes === 0 || now() - lastAt < EVERY_MS) return;
    lastAt = now();
    progress({ step, fraction: Math.min(1, bytes / totalBytes), estimatedCompletionAt: null });
  };
}
