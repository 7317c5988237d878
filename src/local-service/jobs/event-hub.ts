/** Tells live streams that there is something new of a job. What it is, they read from the store. */
export interface EventHub {
  wake(jobSeq: number): void;
  /** Returns the way out. */
  subscribe(jobSeq: number, listener: () => void): () => void;
}

export function createEventHub(): EventHub {
  const listeners = new Map<number, Set<() => void>>();
  return {
    wake: (jobSeq) => listeners.get(jobSeq)?.forEach((listener) => void listener()),
    subscribe(jobSeq, listener) {
      const ofJob = listeners.get(jobSeq) ?? new Set();
      listeners.set(jobSeq, ofJob.add(listener));
      return () => {
        ofJob.delete(listener);
        if (ofJob.size === 0 && listeners.get(jobSeq) === ofJob) listeners.delete(jobSeq);
      };
    },
  };
}
