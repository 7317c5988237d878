import type { Clock } from "../clock.ts";

/** The service's signing key, fetched when first needed and again when a signature does not fit: it may have changed. */
export interface KeyCache {
  current(): Promise<string>;
  /** A newer key than `stale`, or null when there is none or one was asked for a moment ago. */
  newer(stale: string): Promise<string | null>;
}

/** Forged deliveries must not make us ask for the key again and again. */
const refreshEveryMs = 60_000;

export function createKeyCache(fetchKey: () => Promise<string>, clock: Clock): KeyCache {
  let key: Promise<string> | null = null;
  let refreshedAt = Number.NEGATIVE_INFINITY;
  const load = (): Promise<string> => {
    refreshedAt = clock.now();
    const loading = fetchKey().catch((error) => {
      if (key === loading) key = null;
      throw error;
    });
    key = loading;
    return loading;
  };
  return {
    current: () => key ?? load(),
    async newer(stale) {
      const known = await (key ?? load());
      if (known !== stale) return known;
      if (clock.now() - refreshedAt < refreshEveryMs) return null;
      const fresh = await load();
      return fresh === stale ? null : fresh;
    },
  };
}
