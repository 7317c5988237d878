import {
  agreedLimit,
  type PaceGrant,
  type PaceLimit,
  type PaceRequest,
  shareExpiresAt,
  shareOf,
} from "../pace-shares.ts";
import type { Database } from "./database.ts";

export function sharePace(db: Database, request: PaceRequest): PaceGrant {
  const { key, holder, at, ttlMs, wanted } = request;
  const { columns } = db;
  db.run("DELETE FROM pace_shares WHERE pace_key = ? AND expires_at <= ?", key, at);
  const rows = db.all("SELECT holder, share, wanted FROM pace_shares WHERE pace_key = ?", key).map((row) => ({
    holder: columns.text(row, "holder"),
    share: columns.integer(row, "share"),
    wanted: columns.integer(row, "wanted"),
  }));
  const others = rows.filter((row) => row.holder !== holder);
  const mine = rows.find((row) => row.holder === holder)?.share ?? 0;
  const stored = readPace(db, key);
  const limit = agreedLimit(stored.limit, request.limit, others.length === 0);
  const pausedUntil = Math.max(stored.pausedUntil, at + request.pauseMs);
  const share = limit === null ? null : shareOf(limit, mine, others, request);
  db.run(
    "INSERT OR REPLACE INTO pace (pace_key, requests, per_ms, paused_until) VALUES (?, ?, ?, ?)",
    key,
    limit?.requests ?? null,
    limit?.perMs ?? null,
    pausedUntil,
  );
  db.run(
    "INSERT OR REPLACE INTO pace_shares (pace_key, holder, share, wanted, expires_at) VALUES (?, ?, ?, ?, ?)",
    key,
    holder,
    share ?? request.used,
    wanted,
    shareExpiresAt(at, ttlMs, limit),
  );
  return { limit, share, pauseMs: Math.max(0, pausedUntil - at), holders: others.length + 1 };
}

function readPace(db: Database, key: string): { readonly limit: PaceLimit | null; readonly pausedUntil: number } {
  const row = db.get("SELECT requests, per_ms, paused_until FROM pace WHERE pace_key = ?", key);
  if (row === undefined) return { limit: null, pausedUntil: 0 };
  const [requests, perMs] = [db.columns.integerOrNull(row, "requests"), db.columns.integerOrNull(row, "per_ms")];
  const limit = requests === null || perMs === null ? null : { requests, perMs };
  return { limit, pausedUntil: db.columns.integer(row, "paused_until") };
}
