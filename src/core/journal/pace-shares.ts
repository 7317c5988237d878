/** At most `requests` within any `perMs` milliseconds. */
export interface PaceLimit {
  readonly requests: number;
  readonly perMs: number;
}

/**
 * A process says what it needs of a key's request limit, and keeps to the share that it is granted: so many requests in
 * any window, until `ttlMs` have passed. All shares together never exceed the limit, so that no window of the service does.
 */
export interface PaceRequest {
  /** What has the limit: a key at one service. */
  readonly key: string;
  /** The process. */
  readonly holder: string;
  /** Epoch milliseconds; a store with a clock of its own uses that. */
  readonly at: number;
  /** The limit as far as the caller knows it; of two, the lower one holds for all. Null: unknown. */
  readonly limit: PaceLimit | null;
  /** Nothing may be sent for so long, as an answer said, milliseconds; 0: nothing said so. */
  readonly pauseMs: number;
  /** Requests that a window may still count: a share is never below them. */
  readonly used: number;
  /** Requests that it would send within a window. */
  readonly wanted: number;
  readonly ttlMs: number;
}

export interface PaceGrant {
  /** As far as any of the processes knows it. */
  readonly limit: PaceLimit | null;
  /** Requests that the caller may send within any window; null while no limit is known. */
  readonly share: number | null;
  /** Nothing may be sent for so long, whichever process learned it, milliseconds. */
  readonly pauseMs: number;
  /** Processes that use the key, the caller included. */
  readonly holders: number;
}

export interface PaceShare {
  readonly share: number;
  readonly wanted: number;
}

/** A request may be counted by the service this much later than its process last sent, milliseconds. */
export const LATE_MS = 2_000;

/** Until when a share counts although its process has died: its last requests are in windows that begin before its end. */
export function shareExpiresAt(at: number, ttlMs: number, limit: PaceLimit | null): number {
  return at + ttlMs + (limit?.perMs ?? 0) + LATE_MS;
}

/** The limit that all keep to from now on. */
export function agreedLimit(stored: PaceLimit | null, given: PaceLimit | null, isAlone: boolean): PaceLimit | null {
  if (stored === null || given === null) return given ?? stored;
  return isAlone || given.requests * stored.perMs < stored.requests * given.perMs ? given : stored;
}

/**
 * The caller's new share. Alone it gets all that it wants; while others get less than an equal part, no more than that.
 * `mine` is its share until now. Where there are more processes than requests, who has sent its request lets go.
 */
export function shareOf(
  { requests }: PaceLimit,
  mine: number,
  others: readonly PaceShare[],
  { used, wanted }: Pick<PaceRequest, "used" | "wanted">,
): number {
  const free = requests - others.reduce((sum, { share }) => sum + share, 0);
  const equal = Math.max(1, Math.floor(requests / (others.length + 1)));
  const isShort = others.some(({ share, wanted }) => share < Math.min(wanted, equal));
  const isOver = isShort && requests <= others.length && used === 0 && mine > 0;
  const most = isOver ? 0 : isShort ? equal : requests;
  return Math.max(used, Math.min(wanted, free, most), 0);
}
