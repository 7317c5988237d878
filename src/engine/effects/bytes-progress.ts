import type { EffectContext } from "./effect.ts";

const EVERY_MS = 250;

/** Reports the transferred bytes of a step a few times a second; more would burden the journal without use. */
export function bytesProgress(step: string, { progress, now }: Pick<EffectContext, "progress" | "now">) {
  let lastAt = now();
  return (bytes: number, totalBytes: number | null) => {
    if (totalBytes === null || totalBytes === 0 || now() - lastAt < EVERY_MS) return;
    lastAt = now();
    progress({ step, fraction: Math.min(1, bytes / totalBytes), estimatedCompletionAt: null });
  };
}
