import { LATE_MS, type PaceGrant, type PaceRequest } from "../pace-shares.ts";
import type { LeaseClock } from "./clock.ts";
import type { Database } from "./database.ts";
import { databaseNow as now, preamble, settings } from "./function-parts.ts";

/** What `pace-shares.ts` says, under the lock of the key's row. */
export const sharePaceFunction = `
CREATE OR REPLACE FUNCTION {s}.share_pace(
  p_version integer, p_key text, p_holder text, p_now bigint, p_requests bigint, p_per_ms bigint, p_pause bigint,
  p_used bigint, p_wanted bigint, p_ttl bigint
) RETURNS TABLE (requests bigint, per_ms bigint, share bigint, pause_ms bigint, holders bigint) ${settings} AS $function$
#variable_conflict use_column
DECLARE
  k {s}.pace;
  v_now bigint;
  v_others bigint;
  v_taken bigint;
  v_mine bigint;
  v_equal bigint;
  v_is_short boolean;
BEGIN${preamble}
  INSERT INTO {s}.pace (pace_key, paused_until) VALUES (p_key, 0) ON CONFLICT DO NOTHING;
  SELECT * INTO k FROM {s}.pace WHERE pace_key = p_key FOR NO KEY UPDATE;
  v_now := ${now};
  DELETE FROM {s}.pace_shares WHERE pace_key = p_key AND expires_at <= v_now;
  SELECT count(*), coalesce(sum(share), 0) INTO v_others, v_taken
    FROM {s}.pace_shares WHERE pace_key = p_key AND holder <> p_holder;
  IF p_requests IS NOT NULL
      AND (k.requests IS NULL OR v_others = 0 OR p_requests * k.per_ms < k.requests * p_per_ms) THEN
    k.requests := p_requests;
    k.per_ms := p_per_ms;
  END IF;
  k.paused_until := greatest(k.paused_until, v_now + p_pause);
  share := NULL;
  IF k.requests IS NOT NULL THEN
    SELECT coalesce(max(share), 0) INTO v_mine FROM {s}.pace_shares WHERE pace_key = p_key AND holder = p_holder;
    v_equal := greatest(1, k.requests / (v_others + 1));
    v_is_short := EXISTS (SELECT FROM {s}.pace_shares
      WHERE pace_key = p_key AND holder <> p_holder AND share < least(wanted, v_equal));
    share := greatest(p_used, least(p_wanted, k.requests - v_taken, CASE
      WHEN v_is_short AND k.requests <= v_others AND p_used = 0 AND v_mine > 0 THEN 0
      WHEN v_is_short THEN v_equal ELSE k.requests END), 0);
  END IF;
  UPDATE {s}.pace SET requests = k.requests, per_ms = k.per_ms, paused_until = k.paused_until WHERE pace_key = p_key;
  INSERT INTO {s}.pace_shares (pace_key, holder, share, wanted, expires_at)
    VALUES (p_key, p_holder, coalesce(share, p_used), p_wanted, v_now + p_ttl + coalesce(k.per_ms, 0) + ${LATE_MS})
    ON CONFLICT (pace_key, holder) DO UPDATE
      SET share = excluded.share, wanted = excluded.wanted, expires_at = excluded.expires_at;
  RETURN QUERY SELECT k.requests, k.per_ms, share, greatest(0, k.paused_until - v_now), v_others + 1;
END $function$`;

export async function sharePace(
  db: Database,
  clock: LeaseClock,
  version: number,
  request: PaceRequest,
): Promise<PaceGrant> {
  const { key, holder, at, limit, pauseMs, used, wanted, ttlMs } = request;
  const [row] = await db.query("SELECT * FROM {s}.share_pace($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", [
    version,
    key,
    holder,
    clock.forDatabase(at),
    limit?.requests ?? null,
    limit?.perMs ?? null,
    Math.ceil(pauseMs),
    used,
    wanted,
    ttlMs,
  ]);
  const { columns } = db;
  const [requests, perMs] = [columns.integerOrNull(row!, "requests"), columns.integerOrNull(row!, "per_ms")];
  return {
    limit: requests === null || perMs === null ? null : { requests, perMs },
    share: columns.integerOrNull(row!, "share"),
    pauseMs: columns.integer(row!, "pause_ms"),
    holders: columns.integer(row!, "holders"),
  };
}
