/** Counts since this process started. */
export function createMetrics() {
  const requests: Record<string, Record<string, number>> = {};
  let replayed = 0;
  return {
    /** Counts a response on a route. */
    count(route: string, status: number): void {
      requests[route] ??= {};
      const byStatus = requests[route];
      byStatus[status] = (byStatus[status] ?? 0) + 1;
    },
    /** Counts a submit answered as an idempotent replay. */
    replayed(): void {
      replayed += 1;
    },
    snapshot: () => ({ requests: structuredClone(requests), replayed }),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;
