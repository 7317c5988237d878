import { DAY_MS } from "../kit/duration.ts";
import type { Tags } from "../kit/tags.ts";
import type { Columns, Row } from "./columns.ts";

/** Selects the runs whose decisions a review link shows. A run must match every field that is set. */
export interface ReviewScope {
  /** Shows only decisions of runs with all of these tags. */
  readonly tags?: Tags;
  readonly runId?: string;
  /** Shows only the decisions of this step. Requires `runId`. */
  readonly step?: string;
}

/** A review link. Its URL contains a secret; only the secret's hash is stored. */
export interface ReviewLinkRow {
  readonly id: string;
  /** SHA-256 in hex. */
  readonly secretHash: string;
  readonly scope: ReviewScope;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly revokedAt: number | null;
  /** Number of decisions and comments made with the link. */
  readonly uses: number;
  readonly maxUses: number;
}

export const LISTED_MS = 90 * DAY_MS;

/** A journal's review links. */
export interface ReviewLinkStore {
  /** Stores a new link, and removes links that expired more than {@link LISTED_MS} earlier. */
  addReviewLink(link: ReviewLinkRow): Promise<void>;
  reviewLink(id: string): Promise<ReviewLinkRow | null>;
  /** Lists the links, newest first, at most 1,000. */
  reviewLinks(): Promise<readonly ReviewLinkRow[]>;
  /** Revokes a link. Has no effect if the link is already revoked. */
  revokeReviewLink(id: string, at: number): Promise<void>;
  /** Counts a use of a review link. Returns false if the link was revoked, has expired or is used up. */
  useReviewLink(id: string, at: number): Promise<boolean>;
}

export const linkColumns = "id, secret_hash, scope, created_at, expires_at, revoked_at, uses, max_uses";

export function reviewLinkOf(columns: Columns, row: Row): ReviewLinkRow {
  return {
    id: columns.text(row, "id"),
    secretHash: columns.text(row, "secret_hash"),
    // Only `addReviewLink` writes the scope, after checking it.
    scope: columns.json(row, "scope") as ReviewScope,
    createdAt: columns.integer(row, "created_at"),
    expiresAt: columns.integer(row, "expires_at"),
    revokedAt: columns.integerOrNull(row, "revoked_at"),
    uses: columns.integer(row, "uses"),
    maxUses: columns.integer(row, "max_uses"),
  };
}
