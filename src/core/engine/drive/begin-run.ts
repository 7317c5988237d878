import type { AgreedQuote, RunEvent } from "../../journal/events.ts";
import { isRunFinal, type RunState } from "../../journal/state.ts";
import { ownText } from "../../kit/clean-text.ts";
import { traitsOf } from "../../plan/index.ts";
import type { Plan } from "../../plan/plan.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { ownLimitMicros } from "../../run/headroom.ts";
import { hasUncollectedWork } from "../../run/open-jobs.ts";
import { resumeEvents } from "../../run/rerun.ts";
import { quotedEvents } from "../../run/revise.ts";
import { driftMessage, planId } from "../change/drift.ts";
import type { Revision } from "../change/revision.ts";
import type { Code } from "../effects/functions.ts";
import type { AccountMove } from "../money/wallet.ts";
import { type ResumeOptions, usdOption } from "../options/options.ts";
import type { Quote } from "../price/quote.ts";
import type { RunResult } from "./run-result.ts";
import type { Updates } from "./updates.ts";

export interface Start extends ResumeOptions {
  /** Prices of a run that begins. */
  readonly quoted?: readonly RunEvent[] | undefined;
  /** The functions of the pipeline that a starting run was just planned from. */
  readonly code?: Code | undefined;
  /** What is to be changed in a run that is resumed. */
  readonly revision?: Revision | null | undefined;
  /** Stops in the inbox that were sent before the run was resumed. */
  readonly outdatedStops?: readonly number[] | undefined;
  /** Id of the last stop that was known then; one that came later holds, whatever is changed first. */
  readonly lastStop?: number | undefined;
  /** Moves the run to a new key or address of its account, which was checked. */
  readonly move?: AccountMove | undefined;
  /** A paused run stays paused: what its inbox says is taken in all the same. */
  readonly staysPaused?: boolean | undefined;
  /** A run that has ended without a job that is not there yet stays so: only who resumes it waits for that again. */
  readonly leavesGivenUp?: boolean | undefined;
  /** Follows the run if another process took its lease first: a worker finds a run as soon as it is recorded. */
  readonly followOther?: ((updates: Updates, stop: AbortSignal) => Promise<RunResult>) | undefined;
}

export type RerunRevision = Extract<Revision, { readonly kind: "rerun" }>;

interface Beginning {
  readonly events: readonly RunEvent[];
  /** The revision to apply once the service has finished the jobs that it waits for. */
  readonly pending: RerunRevision | null;
  /** True when nothing at all is to be done. */
  readonly isIdle: boolean;
}

/** First prices, a paused run set going again, or what whoever resumes it changes. */
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
    const message = `jobs at the service are completed first (${busy.join(", ")}); then the changes are applied. If this is interrupted, resume with the same command.`;
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

/** The revision for the plan as it is now that the run is ours. */
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
  const isSaid = state.pause?.reason === "drift" && state.pause.message === message;
  const paused = { type: "run.paused", reason: "drift", message: ownText(message) } as const;
  return isSaid ? [] : [...start, { ...paused, ...(replaced.length > 0 && { replaced }) }];
}

/** What a run that begins knows of its prices: those that its steps need not ask for again. */
export function firstPrices(plan: Plan, prices: Quote["prices"]): readonly RunEvent[] {
  const quoted = prices.filter(({ step }) => traitsOf(stepNamed(plan, step)!).pricing.by === "quote");
  return quoted.flatMap((price) => quotedEvents(price, 1));
}

/** What whoever resumes the run allows it to cost: `more` is what they agreed to with a quote of what is made again. */
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
  // Beside what the run may cost already.
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
