import { createHmac, hash } from "node:crypto";
import { HOUR_MS } from "../../core/kit/duration.ts";
import { InvalidOptionError } from "../../core/kit/errors.ts";
import { fileExtension } from "../../core/kit/file-name.ts";
import { formatUsd, parseUsd } from "../../core/kit/money.ts";
import { checkTags } from "../../core/kit/tags.ts";
import { type CallerDocument, callerDocument, type RunRow, type RunView } from "../../core/view/index.ts";
import { isSame, leftOfBudget, notFound, Refusal } from "../served/index.ts";
import type { Call, Caller, Context } from "./options.ts";

export const ENDPOINT = "endpoint";
export const ENDPOINT_NAME = /^[A-Za-z0-9][\w.-]{0,59}$/;

/** Checks a caller that `authorize` returned. Throws if it has no tags, because such a caller would own every run. */
export function checkedCaller({ tags, budget, ...rest }: Caller): Caller {
  const checked = checkTags(tags, "tags");
  const keys = Object.keys(checked);
  if (keys.length === 0) throw new InvalidOptionError("tags", "`authorize` must return at least one tag for a caller.");
  if (keys.includes(ENDPOINT)) throw new InvalidOptionError("tags", `the tag ${ENDPOINT} is reserved for the handler.`);
  if (budget !== undefined && parseUsd(budget) === null) {
    throw new InvalidOptionError(
      "budget",
      `\`authorize\` returned ${JSON.stringify(budget)}; use dollars, such as "0.25".`,
    );
  }
  return { ...rest, tags, ...(budget !== undefined && { budget }) };
}

/** Returns the caller's first tag. All runs with this tag share the caller's budget. */
export function budgetTag({ tags }: Caller): string {
  const [[key, value]] = Object.entries(tags) as [[string, string]];
  return `${key}=${value}`;
}

export async function leftMicros({ show }: Context, caller: Caller): Promise<number | null> {
  if (caller.budget === undefined) return null;
  return leftOfBudget(show, { tag: budgetTag(caller), budgetMicros: parseUsd(caller.budget)! });
}

export function overBudget(expectedMicros: number, left: number): Refusal {
  const message = `This run is expected to cost ${formatUsd(expectedMicros)} dollars, but your budget has only ${formatUsd(left)} dollars left; generate less, or ask for a larger budget.`;
  return new Refusal(402, "OVER_BUDGET", message);
}

/** Derives the id from the caller and the key, so that every process computes the same id. */
export function runIdOf(caller: Caller, key: string): string {
  return `run-${hash("sha256", JSON.stringify([ownerTags(caller), key])).slice(0, 32)}`;
}

export function ownerOf(caller: Caller): string {
  return hash("sha256", JSON.stringify(ownerTags(caller))).slice(0, 16);
}

function ownerTags({ tags }: Caller) {
  return Object.entries(tags).toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** Returns the run if it is the caller's own. Other callers' runs are refused as if they did not exist. */
export async function ownRun({ context, caller, params }: Call): Promise<RunRow> {
  const row = await context.show.journal.run(params.run!);
  const isOwn =
    row !== null &&
    Object.entries(caller.tags).every(([key, value]) => Object.hasOwn(row.tags, key) && row.tags[key] === value);
  if (!isOwn) throw notFound("This run");
  return row;
}

export function documentOf(
  context: Context,
  view: RunView,
  now: { readonly isInterrupted: boolean; readonly seq?: number },
): CallerDocument {
  const { runId, planned } = view.state;
  const at = Date.now();
  return callerDocument(view, {
    ...now,
    audience: "customer",
    hasEngine: context.options.engine !== undefined,
    pipeline: planned.tags?.[ENDPOINT],
    urlOf: ({ sha256, contentType }) => fileAddress(context, { runId, sha256, contentType }, at),
  });
}

/** Interval at which a file's address changes. It is long because each change restarts playback. */
const ADDRESS_MS = HOUR_MS;

interface SignedFile {
  readonly runId: string;
  readonly sha256: string;
  readonly contentType: string;
}

type Signing = Pick<Context, "secret" | "prefix">;

/** Returns a signed address for a file. Anyone with the address can read the file for one to two hours. */
function fileAddress({ secret, prefix }: Signing, file: SignedFile, now: number): string {
  const ends = (Math.floor(now / ADDRESS_MS) + 2) * ADDRESS_MS;
  const query = new URLSearchParams({ type: file.contentType, ends: String(ends), mark: markOf(secret, file, ends) });
  const name = `${file.sha256}${fileExtension(file.contentType)}`;
  return `${prefix}/media/${encodeURIComponent(file.runId)}/${name}?${query}`;
}

export function fileOfAddress(
  { secret }: Pick<Context, "secret">,
  { runId, name, query }: { readonly runId: string; readonly name: string; readonly query: URLSearchParams },
  now: number,
): SignedFile | null {
  const [, sha256, extension] = /^([0-9a-f]{64})(\.[a-z0-9]{1,8})?$/.exec(name) ?? [];
  const [contentType = "", ends = "", mark = ""] = ["type", "ends", "mark"].map((key) => query.get(key) ?? "");
  if (sha256 === undefined || !/^\d{13}$/.test(ends)) return null;
  const file = { runId, sha256, contentType };
  const isGenuine = isSame(mark, markOf(secret, file, Number(ends)));
  return isGenuine && (extension ?? "") === fileExtension(contentType) && Number(ends) > now ? file : null;
}

function markOf(secret: string, { runId, sha256, contentType }: SignedFile, ends: number): string {
  const said = JSON.stringify(["showrunner media", runId, sha256, contentType, ends]);
  return createHmac("sha256", secret).update(said).digest("base64url");
}
