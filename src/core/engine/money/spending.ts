import type { Client } from "../../api/index.ts";
import type { SpendingReached } from "../../journal/events.ts";
import type { RunState } from "../../journal/state.ts";
import type { CommitOutcome, JournalStore, SpendingCap, SpendingGuard } from "../../journal/store.ts";
import { HOUR_MS } from "../../kit/duration.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { formatUsd } from "../../kit/money.ts";
import { ANY_VALUE, parseTag, type Tags, tagText } from "../../kit/tags.ts";
import { type CapTerms, type Headroom, shareReached } from "../../run/money.ts";
import { type CapOption, usdOption } from "../options/options.ts";
import { type Judged, judge, outageDelayMs } from "../service/service-answers.ts";
import { Wallet } from "./wallet.ts";

/** Maximum time in milliseconds that a run waits for the balance to include other runs' charges. */
const BALANCE_TIMEOUT_MS = 15_000;
const ASK_AGAIN_MS = 1_000;

type Later = Extract<Headroom, { readonly limit: "later" }>;
type Refusal = Extract<CommitOutcome, { readonly reason: "cap" | "floor" }>;

export interface SpendingLimits {
  readonly caps: CapRules;
  readonly floorMicros: number | null;
}

/** What an account's runs in one journal have spent, and the limits that this process sets for them. */
export interface SpendingTotals {
  /** The all-time cap across all runs. Null if there is none. */
  readonly capMicros: number | null;
  readonly floorMicros: number | null;
  /** Caps with a tag or a period, and the amounts spent under them. Caps on `tag=*` are in `capsPerValue`. */
  readonly caps: readonly {
    readonly tag: string | null;
    readonly capMicros: number;
    readonly spentMicros: number;
    readonly heldMicros: number;
    readonly endsAt: number | null;
  }[];
  /** Caps on `tag=*`. Each cap applies to every value of the tag separately. */
  readonly capsPerValue: readonly {
    readonly tag: string;
    readonly capMicros: number;
    readonly per: "day" | null;
  }[];
  readonly spentMicros: number;
  /** The amount reserved for requests whose bills have not arrived yet. */
  readonly heldMicros: number;
}

export function spendingLimits(options: {
  readonly spendingCap?: string | undefined;
  readonly caps?: readonly (CapOption | string)[] | undefined;
  readonly capTimeZone?: string | undefined;
  readonly walletFloor?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}): SpendingLimits {
  const env = options.env ?? process.env;
  const limit = (option: string, given: string | undefined, variable: string) =>
    given === undefined ? usdOption(variable, env[variable] || undefined) : usdOption(option, given);
  const capMicros = limit("spendingCap", options.spendingCap, "SHOWRUNNER_SPENDING_CAP");
  const over: readonly CapRule[] = capMicros === null ? [] : [{ capMicros, per: null, tag: null }];
  const named = (env.SHOWRUNNER_CAPS ?? "").split(",").filter((text) => text.trim() !== "");
  const given = (options.caps ?? []).map((cap) => (typeof cap === "object" ? capRule(cap) : parseCap(cap, "caps")));
  const others = replaceCaps(
    named.map((text) => parseCap(text, "SHOWRUNNER_CAPS")),
    given,
  );
  const [timeZone, zoneOption] =
    options.capTimeZone === undefined
      ? [env.SHOWRUNNER_CAP_TIME_ZONE || "UTC", "SHOWRUNNER_CAP_TIME_ZONE"]
      : [options.capTimeZone, "capTimeZone"];
  return {
    caps: { rules: [...over, ...others], timeZone: checkTimeZone(timeZone, zoneOption) },
    floorMicros: limit("walletFloor", options.walletFloor, "SHOWRUNNER_WALLET_FLOOR"),
  };
}

export interface SpendingParts extends SpendingLimits {
  readonly client: Client;
  readonly store: JournalStore;
  readonly account: string;
  readonly now: () => number;
}

export class Spending {
  readonly #parts: SpendingParts;
  readonly #wallet: Wallet;

  constructor(parts: SpendingParts) {
    this.#parts = parts;
    this.#wallet = new Wallet(parts);
  }

  async totals(of: {
    readonly tag?: string | undefined;
    readonly account?: string | undefined;
  }): Promise<SpendingTotals> {
    const { store, caps, floorMicros, now } = this.#parts;
    const { tag, account = this.#parts.account } = of;
    const ledger = tag === undefined ? store.accountLedger(account) : store.spending(account, { tag, sinceAt: null });
    const { settledMicros: spentMicros, heldMicros } = await ledger;
    const all = caps.rules.filter(({ tag, per }) => tag === null && per === null).map(({ capMicros }) => capMicros);
    const others = caps.rules.filter(({ tag, per }) => tag !== null || per !== null);
    const reached = others.flatMap((rule) => {
      const tags = rule.tag === null ? {} : { [rule.tag.key]: rule.tag.value };
      return rule.tag?.value === ANY_VALUE ? [] : capsFor({ ...caps, rules: [rule] }, tags, now());
    });
    const counted = await Promise.all(
      reached.map(async (cap) => {
        const totals = await store.spending(account, cap);
        const { endsAt, capMicros } = capTerms(cap, caps.timeZone);
        return { tag: cap.tag, capMicros, spentMicros: totals.settledMicros, heldMicros: totals.heldMicros, endsAt };
      }),
    );
    const capMicros = all.length === 0 ? null : Math.min(...all);
    const capsPerValue = others.flatMap(({ tag, capMicros, per }) =>
      tag?.value === ANY_VALUE ? [{ tag: tagText(tag.key, ANY_VALUE), capMicros, per }] : [],
    );
    return { spentMicros, heldMicros, capMicros, floorMicros, caps: counted, capsPerValue };
  }

  watch(state: RunState): SpendingWatch {
    return new SpendingWatch(this.#parts, this.#wallet, state);
  }
}

export interface SpendingMemo {
  readonly waitingSince: number | null;
  readonly failures: number;
}

export class SpendingWatch {
  readonly #parts: SpendingParts;
  readonly #wallet: Wallet;
  /** When the run began to wait for charges that the balance does not include yet. Null if it is not waiting. */
  #waitingSince: number | null = null;
  readonly #state: RunState;
  /** True once a cap has refused a commit. From then on, `headrooms` reads the amounts of all caps. */
  #isCapShort = false;
  #later: Later | null = null;
  #failures = 0;
  /** The error from the latest balance read. Null if that read succeeded, undefined before the first read. */
  #answer: Judged | null | undefined;

  constructor(parts: SpendingParts, wallet: Wallet, state: RunState) {
    this.#parts = parts;
    this.#wallet = wallet;
    this.#state = state;
  }

  memo(): SpendingMemo {
    return { waitingSince: this.#waitingSince, failures: this.#failures };
  }

  restore({ waitingSince, failures }: SpendingMemo): void {
    this.#waitingSince = waitingSince;
    this.#failures = failures;
  }

  /**
   * Returns the amounts that the limits still allow. Set `moves` if the wallet's balance may have grown, so that it is
   * read again.
   */
  async headrooms(moves: boolean): Promise<readonly Headroom[]> {
    const { store, account, now } = this.#parts;
    if (moves || (this.#later !== null && this.#later.askAgainAt <= now())) this.#later = null;
    const later = this.#later === null ? [] : [this.#later];
    if (!this.#isCapShort) return later;
    const known = this.#caps().map(async (cap) => {
      const { heldMicros, settledMicros } = await store.spending(account, cap);
      const micros = heldMicros + settledMicros;
      return this.#capHeadroom(cap, Math.max(0, cap.capMicros - micros), micros);
    });
    return [...later, ...(await Promise.all(known))];
  }

  #caps(): readonly SpendingCap[] {
    const { planned, budgetMicros } = this.#state;
    const caps = capsFor(this.#parts.caps, planned.tags ?? {}, this.#parts.now());
    if (budgetMicros === null || planned.budgetTag === undefined) return caps;
    return [...caps, { tag: planned.budgetTag, sinceAt: null, capMicros: budgetMicros, isBudget: true }];
  }

  #capHeadroom(cap: SpendingCap, headroomMicros: number, committedMicros: number): Headroom {
    return { limit: "cap", headroomMicros, committedMicros, cap: capTerms(cap, this.#parts.caps.timeZone) };
  }

  /**
   * Returns the limits that a commit must respect when it reserves money; undefined if there are none. If the balance
   * cannot be read, returns when to try again.
   */
  async guard(fresh: boolean, usesWallet = true): Promise<SpendingGuard | Headroom | undefined> {
    const { floorMicros, now } = this.#parts;
    const caps = this.#caps();
    if (floorMicros === null || !usesWallet) return caps.length === 0 ? undefined : { caps, wallet: null };
    try {
      const wallet = { ...(await this.#wallet.balance(fresh)), floorMicros };
      this.#failures = 0;
      this.#answer = null;
      return { caps: this.#caps(), wallet };
    } catch (error) {
      this.#answer = judge("balance", error);
      return this.#notBefore(now() + outageDelayMs(++this.#failures));
    }
  }

  takeAnswer(): Judged | null | undefined {
    const answer = this.#answer;
    this.#answer = undefined;
    return answer;
  }

  /**
   * Returns the amount that is left under the limit that refused a commit. `submitting` is true if a paid request of
   * this run is in progress.
   */
  headroom(refusal: Refusal, guard: SpendingGuard, submitting: boolean): Headroom {
    if (refusal.reason === "cap") {
      this.#isCapShort = true;
      return this.#capHeadroom(refusal.cap, refusal.headroomMicros, refusal.committedMicros);
    }
    const { headroomMicros, unseenMicros } = refusal;
    const now = this.#parts.now();
    this.#waitingSince ??= now;
    // The balance may or may not include charges in progress, so read it again later.
    if (unseenMicros > 0 && (submitting || now - this.#waitingSince < BALANCE_TIMEOUT_MS)) {
      return this.#notBefore(now + ASK_AGAIN_MS);
    }
    const { balanceMicros, floorMicros } = guard.wallet!;
    return { limit: "floor", headroomMicros, floorMicros, balanceMicros, unseenMicros };
  }

  /** Returns an event for each cap whose usage has just reached a reporting threshold. */
  reserved(caps: readonly SpendingCap[], committedMicros: readonly number[], heldMicros: number): SpendingReached[] {
    this.#waitingSince = null;
    return committedMicros.flatMap((micros, index) => {
      const { what, title, capMicros, endsAt } = capTerms(caps[index]!, this.#parts.caps.timeZone);
      const amounts = { limitMicros: capMicros, committedMicros: micros };
      const percent = shareReached(amounts, micros - heldMicros);
      if (percent === null) return [];
      const day = endsAt === null ? "" : ` until ${new Date(endsAt).toISOString()}`;
      return [{ type: "spending.reached", what, limit: `${title}${day}`, percent, ...amounts }];
    });
  }

  #notBefore(askAgainAt: number): Later {
    this.#later = { limit: "later", headroomMicros: 0, askAgainAt };
    return this.#later;
  }
}

interface CapRule {
  readonly capMicros: number;
  readonly per: "day" | null;
  /**
   * The tag that selects the runs; null selects all runs. With the value `*`, the cap applies to each value separately.
   */
  readonly tag: { readonly key: string; readonly value: string } | null;
}

interface CapRules {
  readonly rules: readonly CapRule[];
  readonly timeZone: string;
}

function capRule({ usd, per, tag }: CapOption, option = "caps"): CapRule {
  if (per !== undefined && per !== "day") {
    throw new InvalidOptionError(option, `${JSON.stringify(per)} is not a cap period; use "day" or leave it out.`);
  }
  return {
    capMicros: usdOption(option, usd ?? "")!,
    per: per ?? null,
    tag: tag === undefined ? null : parseTag(tag, option, { anyValue: true }),
  };
}

/** Parses a cap as written on the command line: `50/day`, `team=video:10/day`, `team=*:100`. */
export function parseCap(text: string, option: string): CapRule {
  const found = typeof text === "string" ? /^(?:(.+):)?([^:/]+)(\/day)?$/.exec(text.trim()) : null;
  if (found === null) {
    throw new InvalidOptionError(
      option,
      `${JSON.stringify(text)} is not a cap; write it like 50/day, team=video:10/day or team=*:100.`,
    );
  }
  const [, tag, usd, day] = found;
  return capRule({ usd: usd!, tag, per: day === undefined ? undefined : "day" }, option);
}

function replaceCaps(named: readonly CapRule[], given: readonly CapRule[]): readonly CapRule[] {
  const scopeOf = ({ per, tag }: CapRule) => JSON.stringify([per, tag]);
  const replaced = new Set(given.map(scopeOf));
  return [...named.filter((rule) => !replaced.has(scopeOf(rule))), ...given];
}

function capsFor({ rules, timeZone }: CapRules, tags: Tags, at: number): readonly SpendingCap[] {
  return rules.flatMap(({ capMicros, per, tag }): readonly SpendingCap[] => {
    const value = tag === null ? undefined : Object.hasOwn(tags, tag.key) ? tags[tag.key] : undefined;
    if (tag !== null && (value === undefined || (tag.value !== ANY_VALUE && tag.value !== value))) return [];
    const sinceAt = per === null ? null : dayAt(at, timeZone).startAt;
    const cap = { tag: tag === null ? null : tagText(tag.key, value!), sinceAt, capMicros };
    return [tag?.value === ANY_VALUE ? { ...cap, anyValueOf: tag.key } : cap];
  });
}

function capTerms({ tag, sinceAt, capMicros, isBudget, anyValueOf }: SpendingCap, timeZone: string): CapTerms {
  if (isBudget === true) {
    const title = `budget of ${formatUsd(capMicros)} USD for all runs with the tag ${tag}`;
    return { what: "budget", capMicros, title, endsAt: null, resumesAt: null, flag: ["--budget ", ""], limitFlags: [] };
  }
  const endsAt = sinceAt === null ? null : dayAt(sinceAt, timeZone).endAt;
  const isPlain = tag === null && sinceAt === null;
  const name = `${isPlain ? "spending cap" : "cap"} of ${formatUsd(capMicros)} USD`;
  const day = sinceAt === null ? "" : ` a day (${timeZone})`;
  // Name the cap on `tag=*`, because a cap on one value would not replace it.
  const scope = anyValueOf === undefined ? tag : tagText(anyValueOf, ANY_VALUE);
  const before = scope === null ? "" : `${scope}:`;
  const after = sinceAt === null ? "" : "/day";
  const option = isPlain ? "--spending-cap" : "--cap";
  const zone = sinceAt === null || timeZone === "UTC" ? [] : ["--cap-time-zone", timeZone];
  return {
    what: "cap",
    capMicros,
    title: `${name}${day} across all runs in this journal${tag === null ? "" : ` with the tag ${tag}`}`,
    endsAt,
    resumesAt: endsAt === null ? null : instantText(endsAt, timeZone),
    flag: [`${option} ${before}`, after],
    limitFlags: [option, `${before}${formatUsd(capMicros)}${after}`, ...zone],
  };
}

/**
 * Resolution of the search for the start and end of a day. In every time zone, midnight and clock changes fall on a
 * multiple of a quarter of an hour.
 */
const STEP_MS = 900_000;
const LONGEST_DAY_MS = 48 * HOUR_MS;

interface Day {
  readonly startAt: number;
  readonly endAt: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();
const days = new Map<string, Day>();

function checkTimeZone(timeZone: string, option: string): string {
  try {
    // Skip the check of the default, which would take a tenth of every command's start-up time.
    if (timeZone !== "UTC") formatOf(timeZone);
    return timeZone;
  } catch {
    throw new InvalidOptionError(
      option,
      `${JSON.stringify(timeZone)} is not a time zone; use a name such as UTC or Europe/Berlin.`,
    );
  }
}

export function dayAt(at: number, timeZone: string): Day {
  const known = days.get(timeZone);
  if (known !== undefined && known.startAt <= at && at < known.endAt) return known;
  const date = dateOf(at, timeZone);
  const isOther = (step: number) => dateOf(step * STEP_MS, timeZone) !== date;
  const here = Math.floor(at / STEP_MS);
  const reach = LONGEST_DAY_MS / STEP_MS;
  const startAt = (firstStep(here - reach, here, (step) => !isOther(step)) ?? here) * STEP_MS;
  const endAt = firstStep(here, here + reach, isOther)! * STEP_MS;
  const day = { startAt, endAt };
  days.set(timeZone, day);
  return day;
}

function firstStep(from: number, to: number, holds: (step: number) => boolean): number | null {
  if (!holds(to)) return null;
  let [no, yes] = [from, to];
  while (yes - no > 1) {
    const middle = Math.floor((no + yes) / 2);
    if (holds(middle)) yes = middle;
    else no = middle;
  }
  return yes;
}

export function instantText(at: number, timeZone: string): string {
  const parts = Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  return `${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute} ${timeZone}`;
}

function dateOf(at: number, timeZone: string): string {
  return instantText(at, timeZone).slice(0, 10);
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (format === undefined) {
    const [date, time] = [
      { year: "numeric", month: "2-digit", day: "2-digit" } as const,
      { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const,
    ];
    format = new Intl.DateTimeFormat("en-CA", { timeZone, ...date, ...time });
    formats.set(timeZone, format);
  }
  return format;
}
