/** Counts since this process started. */
export interface Metrics {
  /** Counts a response on a route. */
  count(route: string, status: number): void;
  /** Counts a submit answered as an idempotent replay. */
  replayed(): void;
  snapshot(): {
    readonly requests: Readonly<Record<string, Readonly<Record<string, number>>>>;
    readonly replayed: number;
  };
}

export function createMetrics(): Metrics {
  const requests: Record<string, Record<string, number>> = {};
  let replayed = 0;
  return {
    count(route, status) {
      const byStatus = requests[route] ?? {};
      requests[route] = byStatus;
      byStatus[status] = (byStatus[status] ?? 0) + 1;
    },
    replayed() {
      replayed += 1;
    },
    snapshot: () => ({ requests: structuredClone(requests), replayed }),
  };
}
