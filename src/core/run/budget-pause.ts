import type { AskedPrice, RunEvent } from "../journal/events.ts";
import type { RunState } from "../journal/state.ts";
import { ownText } from "../kit/clean-text.ts";
import { formatUsd, wholeCents } from "../kit/money.ts";
import { shellWord } from "../kit/value-text.ts";
import { type LimitHeadroom, ownLimitMicros } from "./headroom.ts";

export type Pause = Extract<RunEvent, { readonly type: "run.paused" }>;

/** An amount to reserve for a step. `reason` says why the amount is above the quoted price. Otherwise, it is empty. */
interface Hold {
  readonly path: string;
  readonly holdMicros: number;
  readonly reason: string;
}

export function unpriced(path: string, model: string, why: string): string {
  return `${path} (${model}) ${why}. Set maxCost on the step, or resume with --max-unquoted USD.`;
}

export function overBudget({ path, holdMicros, reason }: Hold, committedMicros: number, budgetMicros: number): Pause {
  const needs = `${path} needs ${formatUsd(holdMicros)} USD${reason}`;
  const message = `${needs}, but ${formatUsd(committedMicros)} USD of the budget of ${formatUsd(budgetMicros)} USD is spent or reserved.`;
  const requiredMicros = committedMicros + holdMicros;
  return { type: "run.paused", reason: "budget", message: ownText(message), requiredMicros };
}

const MOST_NAMED = 5;

export function unagreed(state: RunState, asks: readonly AskedPrice[]): Pause {
  const { runId, agreed, planned } = state;
  const limitMicros = ownLimitMicros(state) ?? 0;
  const sum = asks.reduce((micros, { costMicros }) => micros + costMicros, 0);
  const named = asks.slice(0, MOST_NAMED).map(({ step, costMicros }) => `${step} costs ${formatUsd(costMicros)} USD`);
  const more = asks.length > MOST_NAMED ? `, and ${asks.length - MOST_NAMED} more (${formatUsd(sum)} USD in all)` : "";
  const requiredMicros = limitMicros + sum;
  const flag = planned.budgetTag === undefined ? "--budget" : "--agree";
  const asked = `${named.join(", ")}${more}: the price was unknown when quote ${agreed!.quote} was accepted and is not part of the accepted ${formatUsd(limitMicros)} USD.`;
  const message = `${asked} To accept it: showrunner resume ${runId} ${flag} ${wholeCents(requiredMicros)}`;
  return { type: "run.paused", reason: "budget", message: ownText(message), requiredMicros, asks };
}

export function overGroup(
  { holdMicros, reason }: Hold,
  group: { readonly prefix: string; readonly maxCostMicros: number; readonly committed: number },
): string {
  const { prefix, maxCostMicros, committed } = group;
  return `needs ${formatUsd(holdMicros)} USD${reason}, but ${prefix} has spent or reserved ${formatUsd(committed)} of its maxCost of ${formatUsd(maxCostMicros)} USD`;
}

export function whyRaised(model: string, quotedMicros: number | null, holdMicros: number): string {
  if (quotedMicros === null || holdMicros <= quotedMicros) return "";
  return ` (quoted ${formatUsd(quotedMicros)}, but ${model} has charged more than its quotes)`;
}

export function overHeadroom(headroom: LimitHeadroom, path: string, holdMicros: number): Pause {
  const needs = `${path} needs ${formatUsd(holdMicros)} USD`;
  switch (headroom.limit) {
    case "cap": {
      const { cap, committedMicros } = headroom;
      const requiredMicros = committedMicros + holdMicros;
      const [before, after] = cap.flag;
      const spent = `${needs}, but ${formatUsd(committedMicros)} USD of the ${cap.title} is spent or reserved.`;
      const flag = ownText(`${before}${wholeCents(requiredMicros)}${after}`);
      const limitFlags = cap.limitFlags.length === 0 ? {} : { limitFlags: cap.limitFlags.map(ownText) };
      const paused = { type: "run.paused", requiredMicros, flag, ...limitFlags } as const;
      const higher = `higher ${cap.what}: ${pastedFlag(`${before}USD${after}`)}.`;
      // If the amount is above the whole cap, waiting for the cap's next period does not help.
      if (cap.endsAt === null || holdMicros > cap.capMicros) {
        const message = ownText(`${spent} Resume with a ${higher}`);
        return { ...paused, reason: "budget", message };
      }
      const message = ownText(`${spent} The run can continue from ${cap.resumesAt}, or earlier with a ${higher}`);
      return { ...paused, reason: "cap", message, resumeAt: cap.endsAt };
    }
    case "floor": {
      const { floorMicros } = headroom;
      const balanceMicros = headroom.balanceMicros - headroom.unseenMicros;
      const has = `the wallet has ${formatUsd(balanceMicros)} USD unreserved, and ${formatUsd(floorMicros)} USD must stay in it`;
      const message = `${needs}; ${has}. Add funds, or resume with a lower floor: --wallet-floor USD.`;
      const requiredMicros = floorMicros + holdMicros;
      const limitFlags = ["--wallet-floor", formatUsd(floorMicros)].map(ownText);
      const paused = { type: "run.paused", reason: "funds", message: ownText(message) } as const;
      return { ...paused, requiredMicros, balanceMicros, limitFlags };
    }
    default:
      return headroom satisfies never;
  }
}

/** Quotes the value of a stored `--flag value` for a shell, because the value can contain spaces. */
export function pastedFlag(flag: string): string {
  const at = flag.indexOf(" ");
  return `${flag.slice(0, at)} ${shellWord(flag.slice(at + 1))}`;
}

const SHARES = [100, 80, 50] as const;

interface SpentOf {
  readonly limitMicros: number;
  readonly committedMicros: number;
}

export function shareReached({ limitMicros, committedMicros }: SpentOf, beforeMicros: number): number | null {
  const isReached = (share: number, micros: number) => micros * 100 >= limitMicros * share;
  return SHARES.find((share) => isReached(share, committedMicros) && !isReached(share, beforeMicros)) ?? null;
}
