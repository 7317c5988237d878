import { randomUUID } from "node:crypto";
import { LISTED_MS, linkColumns, type ReviewLinkRow, reviewLinkOf } from "../review-links.ts";
import type { Database } from "./database.ts";

/** A repeated call whose first was carried out finds its link there. */
export async function addReviewLink(db: Database, link: ReviewLinkRow): Promise<void> {
  await db.query("DELETE FROM {s}.review_links WHERE expires_at < $1", [link.createdAt - LISTED_MS]);
  const { id, secretHash, scope, createdAt, expiresAt, revokedAt, uses, maxUses } = link;
  await db.query(
    `INSERT INTO {s}.review_links (${linkColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING`,
    [id, secretHash, JSON.stringify(scope), createdAt, expiresAt, revokedAt, uses, maxUses],
  );
}

export async function readReviewLink(db: Database, id: string): Promise<ReviewLinkRow | null> {
  const [row] = await db.query(`SELECT ${linkColumns} FROM {s}.review_links WHERE id = $1`, [id]);
  return row === undefined ? null : reviewLinkOf(db.columns, row);
}

export async function readReviewLinks(db: Database): Promise<readonly ReviewLinkRow[]> {
  const sql = `SELECT ${linkColumns} FROM {s}.review_links ORDER BY created_at DESC, id LIMIT 1000`;
  return (await db.query(sql)).map((row) => reviewLinkOf(db.columns, row));
}

export async function revokeReviewLink(db: Database, id: string, at: number): Promise<void> {
  await db.query("UPDATE {s}.review_links SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL", [id, at]);
}

/** A repeated call whose first was carried out counts nothing more: the use that a row took last has its name. */
export async function useReviewLink(db: Database, id: string, at: number): Promise<boolean> {
  const sql = `UPDATE {s}.review_links SET uses = uses + CASE WHEN last_use = $3 THEN 0 ELSE 1 END, last_use = $3
    WHERE id = $1 AND revoked_at IS NULL AND expires_at > $2 AND (uses < max_uses OR last_use = $3) RETURNING id`;
  return (await db.query(sql, [id, at, randomUUID()])).length > 0;
}
