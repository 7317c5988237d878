import { isIP } from "node:net";
import { join } from "node:path";
import { InvalidOptionError } from "../../../core/kit/errors.ts";
import { parseTag } from "../../../core/kit/tags.ts";
import type { ReviewLinkRow } from "../../../core/view/index.ts";
import {
  badRequest,
  decide,
  inTurn,
  mediaResponse,
  notFound,
  optionalPosition,
  optionalText,
  Refusal,
  readJson,
  type Route as ServedRoute,
  textField,
  textList,
  verdictIn,
} from "../../served/index.ts";
import { BOUNDS, type Call, type Route } from "../http/route.ts";
import { allowedHosts, ownNames, proxiedHosts } from "../http/visitor.ts";
import type { DashboardContext, DashboardOptions } from "../options.ts";
import { pageFile } from "../routes/file-routes.ts";
import { goOnWhereParked } from "../routes/resume-routes.ts";
import {
  createReviewLink,
  linkOfFile,
  linkOfToken,
  reviewLinkUrl,
  reviewLinkView,
  SHARED,
  statusOf,
} from "./review-link.ts";
import { type Shared, type SharedDecision, sharedDecisions } from "./shared-decisions.ts";

export interface SharedPage {
  readonly decisions: readonly SharedDecision[];
  readonly more: number;
  readonly expiresAt: number;
}

interface LinkParts {
  readonly context: DashboardContext;
  readonly folder: string;
  isPublic(host: string): boolean;
}

const MOST_BYTES = 16 * 1024;
const MOST_NAME = 60;
const MOST_SHOWN = 200;

interface SharedCall extends Omit<Call, "visitor" | "json"> {
  readonly remoteAddress: string;
}

export function linkRoutes({ context, folder, isPublic }: LinkParts): readonly ServedRoute<SharedCall>[] {
  const { journal, media } = context;
  const decisions = sharedDecisions(context);
  const tries = new Tries();
  const turns = new Map<string, Promise<unknown>>();

  const admitted = async (
    call: SharedCall,
    now: number,
    find: () => Promise<ReviewLinkRow | null>,
  ): Promise<ReviewLinkRow> => {
    const link = await find();
    if (link === null) {
      tries.wrong(addressOf(call, isPublic), now);
      throw new Refusal(404, "LINK_UNKNOWN", "This link is not valid. Ask the sender for a new one.");
    }
    const status = statusOf(link, now);
    if (status === "active") return link;
    throw new Refusal(
      410,
      `LINK_${status.toUpperCase()}`,
      `This link ${status === "revoked" ? "was revoked" : "has expired"}. Ask the sender for a new one.`,
    );
  };

  const byToken = (call: SharedCall, now: number) =>
    admitted(call, now, () => linkOfToken(journal, tokenOf(call.request)));

  const list = async (call: SharedCall): Promise<SharedPage> => {
    const now = Date.now();
    const link = await byToken(call, now);
    const views = (await decisions.of(link, now)).map(({ view }) => view);
    const waitingFirst = views.toSorted(
      (one, other) => Number(other.status === "waiting") - Number(one.status === "waiting"),
    );
    const shown = waitingFirst.slice(0, MOST_SHOWN);
    return { decisions: shown, more: views.length - shown.length, expiresAt: link.expiresAt };
  };

  const found = async (link: ReviewLinkRow, ref: string): Promise<Shared> => {
    const one = (await decisions.of(link, Date.now())).find(({ view }) => view.ref === ref);
    if (one === undefined) throw notFound("This decision");
    return one;
  };

  const decideOn = async (call: SharedCall): Promise<SharedDecision> => {
    const link = await byToken(call, Date.now());
    const body = await bodyOf(call);
    const ref = textField(body, "ref");
    const { approved } = body;
    if (typeof approved !== "boolean") throw new Refusal(400, "BAD_REQUEST", "`approved` must be true or false.");
    const { value: _, ...verdict } = verdictIn(body, approved);
    const by = { name: nameOf(body), verified: false, link: link.id };
    const { runId } = await found(link, ref);
    // Handles one decision of a run at a time, so that the second of two simultaneous decisions is refused.
    return inTurn(turns, runId, async () => {
      const { step, view } = await found(link, ref);
      if (view.status !== "waiting") throw decidedAlready(view);
      if (approved && view.choose && view.takes[verdict.pick ?? -1] === undefined) {
        throw new Refusal(400, "PICK", "Choose one of the takes shown.");
      }
      await use(link);
      try {
        await decide(context.show, runId, step, { ...verdict, pick: view.choose ? verdict.pick : undefined, by });
      } catch (error) {
        if (!(error instanceof InvalidOptionError)) throw error;
        throw decidedAlready((await found(link, ref)).view);
      }
      await continued(runId);
      return (await found(link, ref)).view;
    });
  };

  const continued = async (runId: string) => {
    const { state } = (await context.cache.get(runId)).view;
    if (state.pause === null || state.pause.reason === "approval")
      await goOnWhereParked(context, runId).catch(context.onDefect);
  };

  const use = async (link: ReviewLinkRow) => {
    if (await journal.useReviewLink(link.id, Date.now())) return;
    throw new Refusal(
      403,
      "LINK_USED_UP",
      "This link has reached its maximum number of uses. Ask the sender for a new one.",
    );
  };

  const comment = async (call: SharedCall): Promise<SharedDecision> => {
    const link = await byToken(call, Date.now());
    const body = await bodyOf(call);
    const ref = textField(body, "ref");
    const text = optionalText(body, "text", 2000)?.trim() ?? "";
    if (text === "") throw new Refusal(400, "TEXT", "The comment is empty; write something first.");
    const by = { name: nameOf(body), verified: false, link: link.id };
    const [take, timeMs] = [optionalPosition(body, "take"), optionalPosition(body, "timeMs")];
    const { runId, step, shown, view } = await found(link, ref);
    if (view.status !== "waiting") throw decidedAlready(view);
    if (take !== undefined && shown[take] === undefined) {
      throw new Refusal(400, "TAKE", "A comment must be about one of the takes shown.");
    }
    await use(link);
    await context.show.comment(runId, step, { text, take: take === undefined ? null : shown[take]!.at, timeMs, by });
    await continued(runId);
    return (await found(link, ref)).view;
  };

  const file = async (call: SharedCall) => {
    const now = Date.now();
    const { id = "", ref = "", ends = "", mark = "" } = call.params;
    const link = await admitted(call, now, () => linkOfFile(journal, { id, ref, ends, mark }));
    if (Number(ends) <= now)
      throw new Refusal(410, "FILE_ENDED", "The address of this file has expired. Reload the page.");
    const shown = await decisions.file(link, ref, now);
    if (shown === null) throw notFound("This file");
    return mediaResponse(call.request, media, shown.copy, { "Cache-Control": "private, no-store" });
  };

  const page =
    (inFolder: string) =>
    ({ request, params }: SharedCall) =>
      pageFile(request, inFolder, params.name ?? "shared.html");

  const own = join(folder, "shared");
  return [
    { method: "GET", path: SHARED, handle: page(own) },
    { method: "GET", path: `${SHARED}/assets/:name`, handle: page(join(own, "assets")) },
    { method: "GET", path: `${SHARED}/file/:id/:ref/:ends/:mark`, handle: file },
    { method: "GET", path: `${SHARED}/api/decisions`, handle: list },
    { method: "POST", path: `${SHARED}/api/decide`, handle: decideOn },
    { method: "POST", path: `${SHARED}/api/comment`, handle: comment },
  ];
}

function decidedAlready({ status, pick, name }: SharedDecision): Refusal {
  if (status === "waiting")
    return new Refusal(409, "NOT_POSSIBLE", "This decision cannot be made right now. Reload the page.");
  const by = name === null ? "" : ` by ${name}`;
  const which = pick === null ? "" : ` (take ${pick + 1})`;
  return new Refusal(
    409,
    "DECIDED",
    `This decision was already made: ${status}${by}${which}. Ask the sender of the link to change it.`,
  );
}

function bodyOf({ request }: SharedCall): Promise<Readonly<Record<string, unknown>>> {
  return readJson(request, { ...BOUNDS, mostBytes: MOST_BYTES });
}

function tokenOf({ headers }: Request): string {
  return /^Bearer ([\w.-]{1,100})$/.exec(headers.get("Authorization") ?? "")?.[1] ?? "";
}

function nameOf(body: Readonly<Record<string, unknown>>): string {
  const name = optionalText(body, "name", MOST_NAME)?.trim() ?? "";
  if (/[\p{L}\p{N}]/u.test(name)) return name;
  throw new Refusal(400, "NAME", "Enter your name: it is stored with the decision.");
}

/** Returns the sender's address. Trusts only the last entry of `X-Forwarded-For`, because the proxy added it. */
function addressOf({ request: { headers }, remoteAddress }: SharedCall, isPublic: LinkParts["isPublic"]): string {
  const entries = (headers.get("X-Forwarded-For") ?? "").split(",");
  const forwarded = isPublic(headers.get("Host")?.toLowerCase() ?? "") ? entries.at(-1)!.trim() : "";
  return (forwarded || remoteAddress).slice(0, 64);
}

const WINDOW_MS = 600_000;
const MOST_OF_ONE = 20;
const MOST_OF_ALL = 1000;

/** Limits attempts with invalid tokens. Valid tokens always work, so nobody can lock out others. */
export class Tries {
  readonly #wrong = new Map<string, number>();
  #total = 0;
  #endsAt = 0;

  wrong(address: string, now: number): void {
    if (now >= this.#endsAt) {
      this.#wrong.clear();
      this.#total = 0;
      this.#endsAt = now + WINDOW_MS;
    }
    const sender = senderOf(address);
    const wrong = this.#wrong.get(sender) ?? 0;
    if (wrong >= MOST_OF_ONE || this.#total >= MOST_OF_ALL) {
      throw new Refusal(429, "TOO_MANY_TRIES", "Too many invalid links were tried. Try again in ten minutes.");
    }
    this.#wrong.set(sender, wrong + 1);
    this.#total += 1;
  }
}

/** Shortens an IPv6 address to its first 64 bits, because one sender may own all addresses that begin with them. */
export function senderOf(address: string): string {
  const [bare = ""] = address.split("%", 1);
  if (isIP(bare) !== 6) return address;
  // The URL parser normalizes: lower case, no leading zeros, and an embedded IPv4 address as two groups.
  const [head = "", tail] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split("::");
  const [first, last] = [head, tail ?? ""].map((part) => (part === "" ? [] : part.split(":"))) as [string[], string[]];
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length;
  const groups = [...first, ...Array.from({ length: zeros }, () => "0"), ...last];
  // Mapped IPv4 addresses (::ffff:a.b.c.d) differ only in their last groups.
  const isMapped = groups.slice(0, 6).join(":") === "0:0:0:0:0:ffff";
  return isMapped ? groups.join(":") : `${groups.slice(0, 4).join(":")}::/64`;
}

export function operatorLinkRoutes({ journal }: DashboardContext, publicUrl: string | null): readonly Route[] {
  const create = async ({ json, request }: Call) => {
    const body = await json();
    const given = textList(body, "tags").map((text) => parseTag(text, "tags"));
    const runId = optionalText(body, "run", 200);
    const step = optionalText(body, "step", 500);
    const scope = {
      ...(given.length > 0 && { tags: Object.fromEntries(given.map(({ key, value }) => [key, value])) }),
      ...(runId && { runId }),
      ...(step && { step }),
    };
    const { expiresMs } = body;
    if (expiresMs !== undefined && typeof expiresMs !== "number") throw badRequest("`expiresMs` must be a number.");
    const now = Date.now();
    const { link, token } = await createReviewLink(journal, { scope, expiresMs }, now);
    const url = reviewLinkUrl(publicUrl ?? `http://${request.headers.get("Host")}`, token);
    return { ...reviewLinkView(link, now), url };
  };

  const list = async () => {
    const now = Date.now();
    return (await journal.reviewLinks()).map((link) => reviewLinkView(link, now));
  };

  const revoke = async ({ json }: Call) => {
    const id = textField(await json(), "id");
    await journal.revokeReviewLink(id, Date.now());
    const link = await journal.reviewLink(id);
    if (link === null) throw notFound("This link");
    return reviewLinkView(link, Date.now());
  };

  return [
    { method: "GET", path: "/api/review-links", handle: list },
    { method: "POST", path: "/api/review-links", handle: create },
    { method: "POST", path: "/api/review-links/revoke", handle: revoke },
  ];
}

export function originOf(publicUrl: string): string {
  const url = URL.canParse(publicUrl) ? new URL(publicUrl) : null;
  if (url?.protocol === "https:" && `${url.origin}/` === url.href) return url.origin;
  throw new InvalidOptionError("publicUrl", "must be an https URL without a path, such as https://review.example.com.");
}

export function publicPlace({
  publicUrl,
  host = "",
  allowHosts = [],
}: Pick<DashboardOptions, "publicUrl" | "host" | "allowHosts">) {
  if (publicUrl === undefined) return null;
  const origin = originOf(publicUrl);
  const { host: named, hostname, port } = new URL(origin);
  const own = allowedHosts({ host: host || "127.0.0.1", port: 0, allowed: allowHosts, own: ownNames() });
  if (!own.some((one) => one.replace(/:\d+$/, "") === hostname)) {
    return { origin, hosts: port === "" ? proxiedHosts([hostname]) : [named] };
  }
  const why = `the dashboard itself uses ${hostname}`;
  throw new InvalidOptionError("publicUrl", `${why}; choose another host name for review links.`);
}
