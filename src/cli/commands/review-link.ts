import { toDocument } from "../../core/kit/document.ts";
import { shellWord } from "../../core/kit/value-text.ts";
import type { ReviewLinkRow } from "../../core/view/index.ts";
import type { JournalStore } from "../../index.ts";
import {
  createReviewLink,
  originOf,
  type ReviewLinkView,
  reviewLinkUrl,
  reviewLinkView,
} from "../../studio/dashboard/index.ts";
import { usageError } from "../cli-error.ts";
import { type Context, journalFolderOf, withJournal } from "../context.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { type Column, table } from "../text/table.ts";
import { dashboardOrigin } from "./dashboard.ts";

export async function reviewLink(
  context: Context,
  runId: string | undefined,
  step: string | undefined,
  flags: Flags["review-link"],
): Promise<void> {
  return withJournal(flags, ({ journal }) => {
    if (flags.revoke !== undefined) return revoke(context, journal, flags.revoke);
    if (flags.list) return list(context, journal);
    const { tag: tags } = flags;
    const scope = { ...(tags && { tags }), ...(runId !== undefined && { runId }), ...(step !== undefined && { step }) };
    return create(context, journal, scope, flags);
  });
}

async function create(
  { io, output }: Context,
  journal: JournalStore,
  scope: ReviewLinkRow["scope"],
  flags: Flags["review-link"],
): Promise<void> {
  const named = flags.publicUrl ?? io.env.SHOWRUNNER_PUBLIC_URL;
  const here = await dashboardOrigin(journalFolderOf(io, flags));
  const origin = named ? originOf(named) : here.origin;
  const now = Date.now();
  const options = { scope, expiresMs: flags.expires, maxUses: flags.maxUses };
  const { link, token } = await createReviewLink(journal, options, now);
  const url = reviewLinkUrl(origin, token);
  const view = reviewLinkView(link, now);
  output.result(toDocument({ ...view, url }), url);
  output.say(`Anyone with this address can decide on ${visible(shown(view))} until ${iso(link.expiresAt)}.`);
  output.say("Copy the address now: it cannot be shown again, because the journal only stores its hash.");
  if (!named)
    output.say("The link only opens on this machine; set --public-url to the address that clients can reach.");
  const runs = await journal.runs({ limit: 1, ...(scope.tags && { tags: scope.tags }) });
  if (runs.length === 0) output.say("No run has this tag yet; a run will appear at the link once it has the tag.");
  const command = `showrunner dashboard${named ? ` --public-url ${shellWord(origin)}` : ""}`;
  const serving = here.isRunning ? [] : [`${command}   (the link works while this command runs)`];
  output.next(...serving, `showrunner review-link --revoke ${link.id}`);
}

const columns: readonly Column<ReviewLinkView>[] = [
  { title: "id", value: ({ id }) => id },
  { title: "shows", value: (link) => visible(shown(link)), flexible: true },
  { title: "status", value: ({ status }) => status },
  { title: "expires", value: ({ expiresAt }) => iso(expiresAt) },
  { title: "used", value: ({ uses, maxUses }) => `${uses} of ${maxUses}`, align: "right" },
];

async function list({ io, output }: Context, journal: JournalStore): Promise<void> {
  const now = Date.now();
  const links = (await journal.reviewLinks()).map((link) => reviewLinkView(link, now));
  output.printJson(toDocument(links));
  if (links.length > 0) output.print(table(links, columns, io.stdout.columns));
  else if (!output.isJson) {
    output.say("No review links yet.");
    output.next("showrunner review-link --tag client=acme --expires 7d");
  }
}

async function revoke({ output }: Context, journal: JournalStore, id: string): Promise<void> {
  const now = Date.now();
  await journal.revokeReviewLink(id, now);
  const link = await journal.reviewLink(id);
  if (link === null) {
    throw usageError(`--revoke ${visible(id)}: this link does not exist`, "showrunner review-link --list");
  }
  output.printJson(toDocument(reviewLinkView(link, now)));
  output.say(`Revoked: the link no longer accepts decisions or shows ${visible(shown(reviewLinkView(link, now)))}.`);
}

function shown({ tags, runId, step }: ReviewLinkView): string {
  const runs = [...tags, ...(runId === null ? [] : [`run ${runId}`])].join(", ");
  return step === null ? runs : `${runs}, step ${step}`;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
