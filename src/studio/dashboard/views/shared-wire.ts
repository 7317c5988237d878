/** What the page behind a review link learns: what it names here, and nothing else. Instants are epoch milliseconds. */

import type { CommentView } from "./run-wire.ts";

/** One thing that is to be decided on, in the order in which a pick counts them. */
export type SharedTake =
  | {
      readonly kind: "image" | "video" | "audio" | "other";
      /** Where its bytes are until `urlEndsAt`; null while there is no copy. */
      readonly url: string | null;
      readonly urlEndsAt: number;
      readonly width: number | null;
      readonly height: number | null;
      readonly durationMs: number | null;
    }
  | { readonly kind: "text"; readonly value: unknown };

export interface SharedDecision {
  /** Names it for this link alone. */
  readonly ref: string;
  readonly title: string;
  readonly question: string;
  readonly choose: boolean;
  readonly takes: readonly SharedTake[];
  readonly status: "waiting" | "approved" | "rejected";
  /** Position among the takes; null where nothing was chosen. */
  readonly pick: number | null;
  /** What was said and typed as a name, where it was decided by this link. */
  readonly note: string | null;
  readonly name: string | null;
  readonly decidedAt: number | null;
  /** Those that came by this link. */
  readonly comments: readonly SharedComment[];
}

export interface SharedComment extends CommentView {
  readonly name: string;
}

export interface SharedRemark extends Pick<SharedComment, "text" | "name"> {
  readonly ref: string;
  readonly take?: number | null;
  readonly timeMs?: number | null;
}

export interface SharedPage {
  readonly decisions: readonly SharedDecision[];
  /** How many more there are. */
  readonly more: number;
  readonly expiresAt: number;
}

export interface SharedVerdict {
  readonly ref: string;
  readonly approved: boolean;
  /** Where it asks for a choice. */
  readonly pick?: number | null;
  readonly note?: string;
  /** Who decides, as they call themselves. */
  readonly name: string;
}

/** A review link as the operator sees it: its secret is shown once, when it is made. */
export interface ReviewLinkView {
  readonly id: string;
  readonly tags: readonly string[];
  readonly runId: string | null;
  readonly step: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly status: "active" | "expired" | "revoked";
  readonly uses: number;
  readonly maxUses: number;
}
