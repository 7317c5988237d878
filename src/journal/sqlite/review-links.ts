import { LISTED_MS, linkColumns, type ReviewLinkRow, reviewLinkOf } from "../review-links.ts";
import type { Database } from "./database.ts";

export function addReviewLink(db: Database, link: ReviewLinkRow): void {
  db.run("DELETE FROM review_links WHERE expires_at < ?", link.createdAt - LISTED_MS);
  db.run(
    `INSERT INTO review_links (${linkColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    link.id,
    link.secretHash,
    JSON.stringify(link.scope),
    link.createdAt,
    link.expiresAt,
    link.revokedAt,
    link.uses,
    link.maxUses,
  );
}

export function readReviewLink(db: Database, id: string): ReviewLinkRow | null {
  const row = db.get(`SELECT ${linkColumns} FROM review_links WHERE id = ?`, id);
  return row === undefined ? null : reviewLinkOf(db.columns, row);
}

export function readReviewLinks(db: Database): readonly ReviewLinkRow[] {
  const rows = db.all(`SELECT ${linkColumns} FROM review_links ORDER BY created_at DESC, id LIMIT 1000`);
  return rows.map((row) => reviewLinkOf(db.columns, row));
}

export function revokeReviewLink(db: Database, id: string, at: number): void {
  db.run("UPDATE review_links SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", at, id);
}

const USE =
  "UPDATE review_links SET uses = uses + 1 WHERE id = ? AND revoked_at IS NULL AND expires_at > ? AND uses < max_uses RETURNING id";

export function useReviewLink(db: Database, id: string, at: number): boolean {
  db.writes += 1;
  return db.get(USE, id, at) !== undefined;
}
