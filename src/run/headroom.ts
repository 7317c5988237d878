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

/** How much more may be reserved right now, apart from the run's own budget: what other runs and the wallet leave. */
export type Headroom =
  | {
      readonly limit: "cap";
      readonly headroomMicros: number;
      readonly capMicros: number;
      /** Spent and held by all runs of the account. */
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
      const { capMicros, committedMicros } = headroom;
      const of = `${formatUsd(committedMicros)} of the spending cap of ${formatUsd(capMicros)} USD`;
      const message = `${needs}; ${of} over all runs of this journal are spent or reserved. Resume with a higher cap: --spending-cap USD.`;
      return {
        type: "run.paused",
        reason: "budget",
        message: ownText(message),
        requiredMicros: committedMicros + holdMicros,
      };
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
