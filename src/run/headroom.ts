import { ownText } from "../clean-text.ts";
import type { RunEvent } from "../journal/events.ts";
import { raisedHold } from "../journal/overcharge.ts";
import { type AttemptState, lastAttempt, lastChat, type RunState } from "../journal/state.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { formatUsd } from "../money.ts";

/** Jobs at the service that will cost more than is reserved for them: start no new work before that is counted. */
export function raisedHolds(state: RunState, holding: Iterable<string>): readonly RunEvent[] {
  if (Object.keys(state.overcharges).length === 0) return [];
  return [...holding].toSorted().flatMap((path) =>
    state.steps[path]!.attempts.flatMap(({ n, model, money, quote, holdMicros }): readonly RunEvent[] => {
      if (money !== "held" || model === null) return [];
      const raised = raisedHold(state, model, { quotedMicros: quote?.costMicros ?? null, holdMicros });
      return raised === holdMicros ? [] : [{ type: "job.hold.raised", step: path, attempt: n, holdMicros: raised }];
    }),
  );
}

/**
 * Holds that will be bills soon: of jobs and chats under way, and of jobs whose cost is still asked for. A bill may be less
 * than its hold, so that what does not fit now may fit then. `within` is a path prefix; empty for the whole run.
 */
export function inFlightMicros(
  { steps }: RunState,
  holding: Iterable<string>,
  within: string,
  notBefore: ReadonlyMap<string, number>,
): number {
  let sum = 0;
  for (const path of holding) {
    if (!path.startsWith(within)) continue;
    const step = steps[path]!;
    const attempt = lastAttempt(step);
    if (attempt !== null && isInFlight(path, attempt, notBefore)) sum += attempt.holdMicros;
    const chat = lastChat(step);
    if (chat?.phase === "sent") sum += chat.holdMicros;
  }
  return sum;
}

function isInFlight(path: string, { n, phase, money }: AttemptState, notBefore: ReadonlyMap<string, number>): boolean {
  if (money !== "held") return false;
  if (jobPhases.inFlight.has(phase)) return true;
  // Its bill never arrived, and it is no longer polled.
  const isGivenUp = notBefore.get(`settle:${path}#${n}`) === Number.POSITIVE_INFINITY;
  return (phase === "completed" || phase === "failed") && !isGivenUp;
}

/** Whether a charge of the run may be on its way to the wallet. */
export function isSubmitting({ steps }: RunState, holding: Iterable<string>): boolean {
  for (const path of holding) {
    const attempt = lastAttempt(steps[path]!);
    if (attempt !== null && jobPhases.submitting.has(attempt.phase)) return true;
    if (lastChat(steps[path]!)?.phase === "sent") return true;
  }
  return false;
}

/** Explains a hold above the quote; empty where it is not above. */
export function whyRaised(model: string, quotedMicros: number | null, holdMicros: number): string {
  if (quotedMicros === null || holdMicros <= quotedMicros) return "";
  return ` (quoted ${formatUsd(quotedMicros)}, and ${model} charged more than its quotes)`;
}

/** What is said of a cap over several runs. */
export interface CapTerms {
  readonly capMicros: number;
  /** Distinguishes it from other caps. */
  readonly title: string;
  /** When it begins anew, epoch milliseconds; null: never. */
  readonly endsAt: number | null;
  /** The same for people. */
  readonly goesOn: string | null;
  /** The option that sets it, before and after the amount. */
  readonly flag: readonly [before: string, after: string];
}

/** How much more may be reserved right now, apart from the run's own budget: what other runs and the wallet leave. */
export type Headroom =
  | {
      readonly limit: "cap";
      readonly headroomMicros: number;
      readonly cap: CapTerms;
      /** Spent and held by all runs that it counts. */
      readonly committedMicros: number;
    }
  | {
      readonly limit: "floor";
      readonly headroomMicros: number;
      readonly floorMicros: number;
      readonly balanceMicros: number;
      /** Held or charged, and not in the balance yet. */
      readonly unseenMicros: number;
    }
  /** Unknown until then: the wallet did not answer, or charges are not in its balance yet. */
  | { readonly limit: "later"; readonly headroomMicros: 0; readonly askAgainAt: number };

export type Pause = Extract<RunEvent, { readonly type: "run.paused" }>;

/** Whether both are about the same limit, so that the later one replaces the other. */
export function isSameLimit(one: Headroom, other: Headroom): boolean {
  if (one.limit !== "cap" || other.limit !== "cap") return one.limit === other.limit;
  return one.cap.title === other.cap.title;
}

/** The headroom left after a further hold. */
export function minusHold(headroom: Headroom, micros: number): Headroom {
  const headroomMicros = headroom.headroomMicros - micros;
  switch (headroom.limit) {
    case "later":
      return headroom;
    case "cap":
      return { ...headroom, headroomMicros, committedMicros: headroom.committedMicros + micros };
    case "floor":
      return { ...headroom, headroomMicros, unseenMicros: headroom.unseenMicros + micros };
    default:
      return headroom satisfies never;
  }
}

/** Why the run pauses when a hold exceeds the headroom; null when it only has to wait. */
export function pauseFor(headroom: Headroom, path: string, holdMicros: number): Pause | null {
  const needs = `${path} needs ${formatUsd(holdMicros)} USD`;
  switch (headroom.limit) {
    case "later":
      return null;
    case "cap": {
      const { cap, committedMicros } = headroom;
      const requiredMicros = committedMicros + holdMicros;
      const [before, after] = cap.flag;
      const spent = `${needs}; ${formatUsd(committedMicros)} of the ${cap.title} are spent or reserved.`;
      const flag = ownText(`${before}${roundedUp(requiredMicros)}${after}`);
      const paused = { type: "run.paused", requiredMicros, flag } as const;
      // No day is long enough for what is more than its cap.
      if (cap.endsAt === null || holdMicros > cap.capMicros) {
        return {
          ...paused,
          reason: "budget",
          message: ownText(`${spent} Resume with a higher cap: ${before}USD${after}.`),
        };
      }
      const message = ownText(
        `${spent} It can go on from ${cap.goesOn} on, or before with a higher cap: ${before}USD${after}.`,
      );
      return { ...paused, reason: "cap", message, resumeAt: cap.endsAt };
    }
    case "floor": {
      const { floorMicros } = headroom;
      const balanceMicros = headroom.balanceMicros - headroom.unseenMicros;
      const has = `apart from what is reserved the wallet has ${formatUsd(balanceMicros)} USD, of which ${formatUsd(floorMicros)} must stay`;
      const message = `${needs}; ${has}. Fund the wallet, or resume with a lower floor: --wallet-floor USD.`;
      const requiredMicros = floorMicros + holdMicros;
      return { type: "run.paused", reason: "funds", message: ownText(message), requiredMicros, balanceMicros };
    }
    default:
      return headroom satisfies never;
  }
}

const CENT_MICROS = 10_000;

/** As people type amounts: in whole cents. */
function roundedUp(micros: number): string {
  return formatUsd(Math.ceil(micros / CENT_MICROS) * CENT_MICROS);
}
