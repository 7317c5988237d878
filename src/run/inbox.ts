import { hash } from "node:crypto";
import { cleanText, ownText } from "../clean-text.ts";
import type { Chosen, GivenFile, PauseReason, RunEvent } from "../journal/events.ts";
import { type AttemptState, isRunFinal, lastAttempt, planStep, type RunState } from "../journal/state.ts";
import type { InboxEntry, InboxMessage } from "../journal/store.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { traitsOf } from "../plan/index.ts";
import { decisionEvents, type PersonsDecision, whyUndecidable } from "./decisions.ts";
import { changeable, offered } from "./kinds/approve.ts";
import { generationId } from "./kinds/generate.ts";
import { runKind } from "./kinds/index.ts";
import { isForPerson } from "./unresolved-text.ts";

/** Of one step; what comes after them is not kept. */
const MOST_COMMENTS = 1000;

/** The events that follow from an inbox message; none for a message that no longer applies. */
export function inboxEvents(state: RunState, { id, at, message }: InboxEntry): readonly RunEvent[] {
  switch (message.type) {
    case "stop":
      if (isRunFinal(state.status) || restsAnyway(state)) return [];
      return [
        ...(state.status === "planned" ? [{ type: "run.started" } as const] : []),
        { type: "run.paused", reason: "stopped", message: ownText("stopped on request"), request: { id, at } },
      ];
    case "adopt": {
      const step = state.steps[message.step];
      const attempt = step === undefined ? null : lastAttempt(step);
      if (isRunFinal(state.status) || attempt === null || !isForPerson(attempt)) return [];
      const target = { step: message.step, attempt: attempt.n };
      const left = leftToPerson(attempt, message.step);
      if (message.file !== undefined) {
        return [...left, ...givenEvents(attempt, message.step, message.file), ...goingOn(state, "unresolved")];
      }
      // That it exists is known: to give up what lacks keeps the rest.
      const isAccepted = message.jobId === null && attempt.unresolved === "incomplete";
      const adopted = isAccepted ? { jobId: attempt.jobId, isAccepted: true as const } : { jobId: message.jobId };
      return [...left, { type: "job.adopted", ...target, ...adopted }, ...goingOn(state, "unresolved")];
    }
    case "approve":
      return approved(state, message);
    case "reject": {
      const { step, note = null, by } = message;
      return decided(state, { step, approved: false, pick: null, note, ...(by && { by }) });
    }
    case "comment": {
      const { step, comment } = message;
      const isOurs = Object.hasOwn(state.steps, step) && (state.steps[step]!.comments?.length ?? 0) < MOST_COMMENTS;
      return isOurs ? [{ type: "comment.added", step, comment }] : [];
    }
    case "hint":
      return [];
    case "performed":
      if (!Object.hasOwn(state.steps, message.step)) return [];
      if (isOwed(state, message)) return [...message.events, ...goingOn(state, "unresolved")];
      return workOf(state, message.step) === message.of ? message.events : [];
    default:
      return message satisfies never;
  }
}

/** Its provider is still asked, to no avail: that ends here. */
function leftToPerson({ n: attempt, phase, doubt }: AttemptState, step: string): readonly RunEvent[] {
  if (phase === "unresolved") return [];
  return [{ type: "job.unresolved", step, attempt, message: cleanText(doubt!.message), cause: "no answer" }];
}

/** A person gave what the provider made: that it was charged is certain, and how much is not. */
function givenEvents(
  { n: attempt, key, holdMicros }: AttemptState,
  step: string,
  { facts, copy }: GivenFile,
): readonly RunEvent[] {
  const target = { step, attempt };
  return [
    { type: "job.adopted", ...target, jobId: generationId(key!), isGiven: true },
    { type: "job.completed", ...target, outputs: [facts], copies: [copy] },
    { type: "job.settled", ...target, costMicros: holdMicros, isUnconfirmed: true },
  ];
}

/** Whether it is the answer to a request of an earlier holder of the run that nobody can ask for: under a key, its answer comes again. */
function isOwed(state: RunState, { step, of, events }: InboxMessage & { readonly type: "performed" }): boolean {
  const plan = planStep(state, step);
  const attempt = lastAttempt(state.steps[step]!);
  if (isRunFinal(state.status) || plan.kind !== "generate" || attempt?.key !== of) return false;
  const { phase, operation } = attempt;
  // What refuses one send of a key says nothing of another.
  if (plan.promise === "keyed" && events.some(({ type }) => type === "job.submit.refused")) return false;
  return phase === "unresolved" ? operation === undefined : jobPhases.submitting.has(phase) && plan.promise !== "keyed";
}

/**
 * Names the work that a step of local code is at: another try, another version of the code, or other inputs are other work.
 * Without any instant, which is not the same in every copy of the state. Null where it is at none.
 */
export function workOf(state: RunState, path: string): string | null {
  const { status, failures, value, chosen } = state.steps[path]!;
  if (isRunFinal(state.status) || status !== "running" || value !== undefined || chosen !== null) return null;
  const plan = planStep(state, path);
  const inputs = runKind(plan.kind).localInputs(plan, state);
  return `${failures.length}.${hash("sha256", JSON.stringify(inputs)).slice(0, 16)}`;
}

/** Stopped already, or waiting for a person with nothing in flight: a stop has nothing to do, and must not stay in the inbox. */
function restsAnyway({ status, pause }: RunState): boolean {
  if (status !== "paused") return false;
  return pause?.reason === "stopped" || pause?.reason === "approval" || pause?.reason === "unresolved";
}

function approved(state: RunState, message: InboxMessage & { readonly type: "approve" }): readonly RunEvent[] {
  const { step, pick, note = null, value, by } = message;
  if (!Object.hasOwn(state.steps, step)) return [];
  const { decision } = traitsOf(planStep(state, step));
  if (decision === null) return [];
  const offer = offered(state, decision);
  const requested = message.chosen;
  const isWanted = (one: Chosen) => one.step === requested?.step && one.index === requested.index;
  const index = requested === undefined ? (pick ?? 0) : offer.findIndex(isWanted);
  const chosen = decision.choose || offer.length === 1 ? offer[index] : undefined;
  if (decision.choose && (pick === undefined || chosen === undefined)) return [];
  if (value !== undefined && changeable(decision, chosen) === null) return [];
  return decided(state, {
    step,
    approved: true,
    pick: decision.choose ? index : null,
    note,
    value,
    chosen,
    ...(by && { by }),
  });
}

function decided(state: RunState, decision: PersonsDecision): readonly RunEvent[] {
  const { step, approved } = decision;
  const undecidable = whyUndecidable(state, step);
  if (undecidable === null) return [...decisionEvents(state, decision), ...goingOn(state, "approval")];
  // Its sender knows that it is recorded: it came too late by then.
  const isLate = !isRunFinal(state.status) && (state.steps[step]?.approval ?? null) !== null;
  return isLate ? [{ type: "approval.refused", step, approved, message: ownText(undecidable.why) }] : [];
}

/** The message that a run paused for arrived while its driver was still about to release it. */
function goingOn(state: RunState, waitedFor: PauseReason): readonly RunEvent[] {
  return state.status === "paused" && state.pause?.reason === waitedFor ? [{ type: "run.resumed" }] : [];
}
