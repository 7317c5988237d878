import type { JobResult } from "../wire/job.ts";

/** How long past jobs of each model took, for when the service has no estimate. */
export interface DurationHistory {
  /** Milliseconds from creation to completion that half of the model's recent jobs kept within, or null. */
  typicalMs(model: string | null): number | null;
  learn(job: JobResult): void;
}

const remembered = 20;
const rememberedModels = 500;

export function createDurationHistory(): DurationHistory {
  const durations = new Map<string, number[]>();
  return {
    typicalMs(model) {
      const known = durations.get(model ?? "");
      if (!known) return null;
      return known.toSorted((a, b) => a - b)[known.length >> 1] ?? null;
    },
    learn(job) {
      const tookMs = Date.parse(job.completedAt ?? "") - Date.parse(job.createdAt ?? "");
      if (!(tookMs >= 0) || job.model === "") return;
      const known = durations.get(job.model) ?? [];
      durations.delete(job.model);
      durations.set(job.model, [...known, tookMs].slice(-remembered));
      if (durations.size > rememberedModels) durations.delete(durations.keys().next().value ?? "");
    },
  };
}
