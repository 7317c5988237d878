import { createHmac, hash, randomBytes } from "node:crypto";
import { DAY_MS, HOUR_MS } from "../../../core/kit/duration.ts";
import { InvalidOptionError } from "../../../core/kit/errors.ts";
import { checkTags, tagTexts } from "../../../core/kit/tags.ts";
import { loadRun, type ReviewLinkRow } from "../../../core/view/index.ts";
import type { JournalStore } from "../../../index.ts";
import { isSame } from "../../served/index.ts";

export const SHARED = "/shared";

const LONGEST_MS = 90 * DAY_MS;
const SHORTEST_MS = 60_000;
const MOST_USES = 10_000;

export interface NewReviewLink {
  readonly scope: ReviewLinkRow["scope"];
  /** How long the link is valid, in milliseconds: one minute to 90 days. Default: seven days. */
  readonly expiresMs?: number | undefined;
  /** Maximum number of decisions and comments. Default: 500. */
  readonly maxUses?: number | undefined;
}

/** Creates a review link. The journal stores only a hash of the token's secret part. */
export async function createReviewLink(
  journal: JournalStore,
  { scope, expiresMs = 7 * DAY_MS, maxUses = 500 }: NewReviewLink,
  now: number,
): Promise<{ readonly link: ReviewLinkRow; readonly token: string }> {
  await checkScope(journal, scope);
  checkNumber("expires", expiresMs, SHORTEST_MS, LONGEST_MS, "from one minute to 90 days");
  checkNumber("maxUses", maxUses, 1, MOST_USES, `from 1 to ${MOST_USES}`);
  const id = randomBytes(16).toString("base64url");
  const secret = randomBytes(24).toString("base64url");
  const times = { createdAt: now, expiresAt: now + expiresMs, revokedAt: null };
  const link = { id, secretHash: hash("sha256", secret), scope, ...times, uses: 0, maxUses };
  await journal.addReviewLink(link);
  return { link, token: `${id}.${secret}` };
}

/** Returns the URL of a review link. The token follows the `#`, because browsers do not send that part. */
export function reviewLinkUrl(origin: string, token: string): string {
  return `${origin}${SHARED}#${token}`;
}

async function checkScope(journal: JournalStore, { tags, runId, step }: ReviewLinkRow["scope"]): Promise<void> {
  checkTags(tags, "tag");
  if (Object.keys(tags ?? {}).length === 0 && runId === undefined) {
    throw new InvalidOptionError("tag", "specify a tag or a run; a link cannot cover all runs.");
  }
  if (step !== undefined && runId === undefined)
    throw new InvalidOptionError("step", "also specify the run that contains the step.");
  if (runId === undefined) return;
  if ((await journal.run(runId)) === null) {
    throw new InvalidOptionError("run", `run ${JSON.stringify(runId)} does not exist.`, "showrunner runs");
  }
  if (step !== undefined && !Object.hasOwn((await loadRun(journal, runId)).steps, step)) {
    const why = `run ${JSON.stringify(runId)} has no step ${JSON.stringify(step)}.`;
    throw new InvalidOptionError("step", why, `showrunner approve ${runId}   (lists pending decisions)`);
  }
}

function checkNumber(option: string, value: number, least: number, most: number, range: string): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  throw new InvalidOptionError(option, `must be ${range}.`);
}

/** Stands in for the secret's hash if the link is unknown, so that response times do not reveal existing ids. */
const NO_HASH = hash("sha256", randomBytes(24));

/** Returns the link for a token, even if the link has expired or was revoked. */
export async function linkOfToken(journal: JournalStore, token: string): Promise<ReviewLinkRow | null> {
  const [, id, secret] = /^([\w-]{22})\.([\w-]{32})$/.exec(token) ?? [];
  if (id === undefined || secret === undefined) return null;
  const link = await journal.reviewLink(id);
  const isRight = isSame(hash("sha256", secret), link?.secretHash ?? NO_HASH);
  return isRight ? link : null;
}

export function statusOf({ revokedAt, expiresAt }: ReviewLinkRow, now: number): "active" | "expired" | "revoked" {
  if (revokedAt !== null) return "revoked";
  return expiresAt <= now ? "expired" : "active";
}

/** Returns a reference that is valid only within this link, and that reveals neither the run nor the step. */
export function refOf(link: ReviewLinkRow, kind: "decision" | "media", ...parts: readonly (string | number)[]): string {
  return signed(link, [kind, ...parts]).slice(0, 22);
}

type SigningLink = Pick<ReviewLinkRow, "id" | "secretHash">;

function signed({ id, secretHash }: SigningLink, parts: readonly (string | number)[]): string {
  return createHmac("sha256", secretHash)
    .update(JSON.stringify([id, ...parts]))
    .digest("base64url");
}

/** How long a file's URL stays the same, so that players do not restart. The URL is valid for at least as long. */
export const FILE_MS = HOUR_MS;

export function fileUrl(
  link: ReviewLinkRow,
  ref: string,
  now: number,
): { readonly url: string; readonly urlEndsAt: number } {
  const urlEndsAt = (Math.floor(now / FILE_MS) + 2) * FILE_MS;
  return { url: `${SHARED}/file/${link.id}/${ref}/${urlEndsAt}/${fileMark(link, ref, urlEndsAt)}`, urlEndsAt };
}

function fileMark(link: SigningLink, ref: string, urlEndsAt: number): string {
  return signed(link, ["file", ref, urlEndsAt]);
}

type FileAddress = Readonly<Record<"id" | "ref" | "ends" | "mark", string>>;

/**
 * Returns the review link that a file's URL belongs to, even if the link has expired. Returns null if the signature is
 * wrong.
 */
export async function linkOfFile(
  journal: JournalStore,
  { id, ref, ends, mark }: FileAddress,
): Promise<ReviewLinkRow | null> {
  if (!/^[\w-]{22}$/.test(id) || !/^\d{13}$/.test(ends)) return null;
  const link = await journal.reviewLink(id);
  const expected = fileMark({ id, secretHash: link?.secretHash ?? NO_HASH }, ref, Number(ends));
  return isSame(mark, expected) ? link : null;
}

export type ReviewLinkView = ReturnType<typeof reviewLinkView>;

export function reviewLinkView(link: ReviewLinkRow, now: number) {
  const { id, createdAt, expiresAt, uses, maxUses } = link;
  const { tags, runId = null, step = null } = link.scope;
  return { id, tags: tagTexts(tags), runId, step, createdAt, expiresAt, status: statusOf(link, now), uses, maxUses };
}
