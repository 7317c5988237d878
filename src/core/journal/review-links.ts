import { DAY_MS } from "../kit/duration.ts";
import type { Columns, Row } from "./columns.ts";
import type { Tags } from "./tags.ts";

/** The runs whose decisions a review link shows: those that all of it fits, of which at least one part is given. */
export interface ReviewScope {
  /** Runs that carry all of them. */
  readonly tags?: Tags;
  readonly runId?: string;
  /** Only with `runId`. */
  readonly step?: string;
}

/** What a review link grants. All of it is here; its address holds a secret, of which only the hash is. */
export interface ReviewLinkRow {
  readonly id: string;
  /** SHA-256, hexadecimal. */
  readonly secretHash: string;
  readonly scope: ReviewScope;
  /** Epoch milliseconds, as the other instants. */
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Null: it was not revoked. */
  readonly revokedAt: number | null;
  /** Decisions and comments that came by it. */
  readonly uses: number;
  readonly maxUses: number;
}

/** How long a link is listed after it expired. */
export const LISTED_MS = 90 * DAY_MS;

/** The review links of a journal: every process that works on it knows of each, and of its end. */
export interface ReviewLinkStore {
  /** Stores a new one, and forgets those that expired {@link LISTED_MS} before it. */
  addReviewLink(link: ReviewLinkRow): Promise<void>;
  reviewLink(id: string): Promise<ReviewLinkRow | null>;
  /** Newest first, at most 1,000. */
  reviewLinks(): Promise<readonly ReviewLinkRow[]>;
  /** Without effect on one that is revoked already. */
  revokeReviewLink(id: string, at: number): Promise<void>;
  /** Counts one use; false, and none is counted, where it was revoked, has expired, or none is left. */
  useReviewLink(id: string, at: number): Promise<boolean>;
}

export const linkColumns = "id, secret_hash, scope, created_at, expires_at, revoked_at, uses, max_uses";

export function reviewLinkOf(columns: Columns, row: Row): ReviewLinkRow {
  return {
    id: columns.text(row, "id"),
    secretHash: columns.text(row, "secret_hash"),
    // Written by `addReviewLink` only, from a checked scope.
    scope: columns.json(row, "scope") as ReviewScope,
    createdAt: columns.integer(row, "created_at"),
    expiresAt: columns.integer(row, "expires_at"),
    revokedAt: columns.integerOrNull(row, "revoked_at"),
    uses: columns.integer(row, "uses"),
    maxUses: columns.integer(row, "max_uses"),
  };
}
