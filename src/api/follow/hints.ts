/** News that a job may have ended, such as a webhook. A hint is no truth: whoever gets one reads the job. */
export interface Hints {
  /** True once something feeds hints, so that `auto` may wait for them. */
  readonly fed: boolean;
  /** Declares that hints will come. */
  feed(): void;
  /** Tells those who follow the job, now or as soon as they begin. */
  notify(jobId: string): void;
  /** Calls `heard` at the next hint, at once when one came before. Returns how to stop listening. */
  listen(jobId: string, heard: () => void): () => void;
}

/** Hints that came before anybody listened; the oldest are forgotten, and the timer behind each follow makes up for it. */
const keptEarly = 50_000;

export function createHints(): Hints {
  const listeners = new Map<string, Set<() => void>>();
  const early = new Set<string>();
  let fed = false;
  return {
    get fed() {
      return fed;
    },
    feed() {
      fed = true;
    },
    notify(jobId) {
      fed = true;
      const waiting = listeners.get(jobId);
      if (waiting) {
        for (const heard of [...waiting]) heard();
        return;
      }
      early.add(jobId);
      if (early.size > keptEarly) early.delete(early.values().next().value ?? "");
    },
    listen(jobId, heard) {
      if (early.delete(jobId)) queueMicrotask(heard);
      const waiting = listeners.get(jobId) ?? new Set();
      listeners.set(jobId, waiting);
      waiting.add(heard);
      return () => {
        waiting.delete(heard);
        if (waiting.size === 0 && listeners.get(jobId) === waiting) listeners.delete(jobId);
      };
    },
  };
}
