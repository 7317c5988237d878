import { isDeepStrictEqual } from "node:util";
import { verdictOf, verdicts } from "../../answers.ts";
import { answerOf, type Client, type Clock, sleep } from "../../api/index.ts";
import type { AgreedQuote, RunEvent } from "../../journal/events.ts";
import { isRunFinal, type PauseState, type RunState } from "../../journal/state.ts";
import type { JournalStore } from "../../journal/store.ts";
import { ownText } from "../../kit/clean-text.ts";
import { type Plan, stepNamed, traitsOf } from "../../plan/plan.ts";
import { ownLimitMicros } from "../../run/money.ts";
import { hasUncollectedWork } from "../../run/open-jobs.ts";
import { quotedEvents, resumeEvents } from "../../run/rerun.ts";
import { driftMessage, planId } from "../change/drift.ts";
import type { Revision } from "../change/revision.ts";
import type { Code } from "../effects/functions.ts";
import type { AccountMove } from "../money/wallet.ts";
import { type ResumeOptions, usdOption } from "../options/options.ts";
import type { Quote } from "../price/quote.ts";
import type { RunResult } from "./run-result.ts";
import type { Updates } from "./updates.ts";

export interface Start extends ResumeOptions {
  readonly quoted?: readonly RunEvent[] | undefined;
  readonly code?: Code | undefined;
  readonly revision?: Revision | null | undefined;
  readonly outdatedStops?: readonly number[] | undefined;
  /** Id of the last stop sent before the resume. Later stops still apply. */
  readonly lastStop?: number | undefined;
  readonly move?: AccountMove | undefined;
  readonly staysPaused?: boolean | undefined;
  /** If true, a run that gave up waiting for a job is not resumed just to collect that job. */
  readonly leavesGivenUp?: boolean | undefined;
  readonly followOther?: ((updates: Updates, stop: AbortSignal) => Promise<RunResult>) | undefined;
}

export type RerunRevision = Extract<Revision, { readonly kind: "rerun" }>;

interface Beginning {
  readonly events: readonly RunEvent[];
  readonly pending: RerunRevision | null;
  readonly isIdle: boolean;
}

export async function beginRun(state: RunState, how: Start): Promise<Beginning> {
  const revision = await current(state, how.revision ?? null);
  if (revision?.kind === "drifted") {
    const events = pauseForDrift(state, driftMessage(revision.drift));
    return { events, pending: null, isIdle: true };
  }
  const budget = budgetEvents(state, how, revision?.agreed ?? null);
  if (revision !== null) {
    const busy = revision.busy(state);
    if (busy.length === 0) return { events: [...budget, ...revision.events(state)], pending: null, isIdle: false };
    const message = `the changes will be applied when the jobs of these steps have finished on the service: ${busy.join(", ")}. If this command is interrupted before that, run it again.`;
    return {
      events: [...budget, ...pauseForDrift(state, message, revision.replaces(state))],
      pending: revision,
      isIdle: false,
    };
  }
  const isIdle = how.staysPaused !== true && isRunFinal(state.status) && !hasUncollectedWork(state);
  const { before, after } = isIdle || how.staysPaused === true ? { before: [], after: [] } : resumeEvents(state);
  return {
    events: [...before, ...budget, ...after],
    pending: null,
    isIdle: false,
  };
}

async function current(state: RunState, revision: Revision | null): Promise<Revision | null> {
  const isOutdated = revision?.kind === "rerun" && revision.of !== planId(state);
  return isOutdated ? revision.renew(state) : revision;
}

function pauseForDrift(state: RunState, message: string, replaced: readonly string[] = []): readonly RunEvent[] {
  const start: readonly RunEvent[] = isRunFinal(state.status)
    ? [{ type: "run.reopened" }]
    : state.status === "planned"
      ? [{ type: "run.started" }]
      : [];
  const { pause } = state;
  const isSame = pause?.message === message && isDeepStrictEqual(pause.replaced ?? [], replaced);
  const isSaid = pause?.reason === "drift" && isSame;
  const paused = { type: "run.paused", reason: "drift", message: ownText(message) } as const;
  return isSaid ? [] : [...start, { ...paused, ...(replaced.length > 0 && { replaced }) }];
}

export function firstPrices(plan: Plan, prices: Quote["prices"]): readonly RunEvent[] {
  const quoted = prices.filter(({ step }) => traitsOf(stepNamed(plan, step)!).pricing.by === "quote");
  return quoted.flatMap((price) => quotedEvents(price, 1));
}

function budgetEvents(
  state: RunState,
  { budget, agree, maxUnquoted }: ResumeOptions,
  more: AgreedQuote | null,
): readonly RunEvent[] {
  const { agreed, pause } = state;
  if (budget === undefined && agree === undefined && maxUnquoted === undefined && (more === null || agreed === null))
    return [];
  const isOwn = state.planned.budgetTag === undefined;
  const limitMicros = ownLimitMicros(state);
  const given = usdOption("budget", budget);
  const most = usdOption("agree", agree) ?? (isOwn ? given : null);
  const raised =
    most ?? (agreed === null || more === null || limitMicros === null ? null : limitMicros + more.maximumMicros);
  const budgetMicros = (isOwn ? (given ?? raised) : given) ?? state.budgetMicros;
  const maxUnquotedMicros = usdOption("maxUnquoted", maxUnquoted) ?? state.maxUnquotedMicros;
  const set = { type: "run.budget.set", budgetMicros, maxUnquotedMicros } as const;
  if (agreed === null || raised === null) return [set];
  const asks = most !== null && most >= (pause?.requiredMicros ?? Infinity) ? (pause?.asks ?? []) : [];
  const prices = Object.fromEntries(asks.map(({ step, costMicros }) => [step, costMicros]));
  return [
    {
      ...set,
      agreed: {
        ...agreed,
        quote: more?.quote ?? agreed.quote,
        maximumMicros: raised,
        open: [...new Set([...agreed.open, ...(more?.open ?? [])])],
        prices: { ...agreed.prices, ...prices },
      },
    },
  ];
}

type Limits = Pick<Start, "budget" | "agree" | "maxUnquoted">;

export function changesLimits(
  { budgetMicros, maxUnquotedMicros, agreed }: RunState,
  how: Limits,
  before: Limits = {},
): boolean {
  const isOther = (option: keyof Limits, now: number | null) =>
    how[option] !== undefined && usdOption(option, how[option]) !== (usdOption(option, before[option]) ?? now);
  return (
    isOther("budget", budgetMicros) ||
    isOther("agree", agreed?.maximumMicros ?? null) ||
    isOther("maxUnquoted", maxUnquotedMicros)
  );
}

export const FUNDS_EVERY_MS = 10_000;

export function awaitedBy({ status, pause }: Pick<RunState, "status" | "pause">): "funds" | "cap" | null {
  if (status !== "paused" || pause === null) return null;
  if (pause.reason === "funds") return "funds";
  return pause.resumeAt === null ? null : "cap";
}

/** Waits up to `forMs` for a pause to end. Returns true if the run can continue, or if a message for it has arrived. */
export async function awaitPauseEnd(
  { clock, store, client }: { readonly clock: Clock; readonly store: JournalStore; readonly client: Client },
  { runId, pause }: RunState,
  signal: AbortSignal,
  forMs: number,
): Promise<boolean> {
  const resumeAt = pause?.resumeAt ?? Number.POSITIVE_INFINITY;
  for (const until = clock.now() + forMs; clock.now() < until; ) {
    const leftMs = Math.max(0, Math.min(until, resumeAt) - clock.now());
    await sleep(clock, Math.min(FUNDS_EVERY_MS, leftMs), signal).catch(() => {});
    if (signal.aborted) return false;
    if ((await store.inbox(runId)).length > 0) return true;
    if (await isPauseOver(pause, { client, clock, signal })) return true;
  }
  return false;
}

/** Returns true if a paused run can continue: the balance is sufficient, or the next period of the cap has started. */
export async function isPauseOver(
  pause: PauseState | null,
  {
    client,
    clock,
    signal,
  }: { readonly client: Client; readonly clock: Clock; readonly signal?: AbortSignal | undefined },
): Promise<boolean> {
  if (pause?.reason !== "funds") return (pause?.resumeAt ?? Number.POSITIVE_INFINITY) <= clock.now();
  const { requiredMicros, balanceMicros } = pause;
  try {
    const wallet = await client.balance({ signal });
    return wallet.balanceMicros >= (requiredMicros ?? (balanceMicros ?? 0) + 1);
  } catch (error) {
    const answer = answerOf(error);
    const isAskedAgain = answer !== null && verdicts[verdictOf("balance", answer)].retried;
    if (!isAskedAgain && signal?.aborted !== true) throw error;
    return false;
  }
}
