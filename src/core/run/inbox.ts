import { hash } from "node:crypto";
import {
  apply,
  type Chosen,
  EVENT_VERSION,
  type GivenFile,
  type PauseReason,
  type RunEvent,
} from "../journal/events.ts";
import { type AttemptState, isRunFinal, lastAttempt, planStep, type RunState } from "../journal/state.ts";
import type { InboxEntry, InboxMessage } from "../journal/store.ts";
import { cleanText, ownText } from "../kit/clean-text.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { traitsOf } from "../plan/index.ts";
import { decisionEvents, type PersonsDecision, type Refusal, whyUndecidable } from "./decisions.ts";
import { changeable, nothingChangeable, offered } from "./kinds/approve.ts";
import { runKind } from "./kinds/index.ts";
import { DECLARED_LOST } from "./kinds/paid.ts";
import { generationId } from "./kinds/provider.ts";
import { isForPerson } from "./waiting.ts";

const MOST_COMMENTS = 1000;

/** Puts `performed` messages first. Of several `adopt` messages for a step, only the last is kept. */
export function inOrder(inbox: readonly InboxEntry[]): readonly InboxEntry[] {
  const lastOf = new Map<string, number>();
  for (const { id, message } of inbox) if (message.type === "adopt") lastOf.set(message.step, id);
  const counts = ({ id, message }: InboxEntry) => message.type !== "adopt" || lastOf.get(message.step) === id;
  const isAnswer = ({ message }: InboxEntry) => Number(message.type === "performed");
  return inbox.filter(counts).toSorted((first, second) => isAnswer(second) - isAnswer(first));
}

const REFUSED = { approve: "approval", reject: "rejection", comment: "comment", adopt: "adoption" } as const;

export function inboxEvents(state: RunState, entry: InboxEntry): readonly RunEvent[] {
  const { message } = entry;
  const judged = judge(state, entry);
  if (!("why" in judged)) return judged;
  if (!("step" in message) || !Object.hasOwn(REFUSED, message.type)) return [];
  const what = REFUSED[message.type as keyof typeof REFUSED];
  return [{ type: "message.refused", step: message.step, what, message: cleanText(judged.why) }];
}

export function refusalOf(state: RunState, message: InboxMessage): Refusal | null {
  const judged = judge(state, { id: 0, at: 0, message });
  return "why" in judged ? judged : null;
}

export function foresee(state: RunState, inbox: readonly InboxEntry[]): RunState {
  const take = (event: RunEvent, at: number) =>
    apply(state, { runId: state.runId, seq: state.seq + 1, at, version: EVENT_VERSION, event });
  for (const entry of inOrder(inbox)) {
    const { message, at } = entry;
    if (message.type === "stop") continue;
    for (const event of inboxEvents(state, entry)) if (event.type !== "run.resumed") take(event, at);
    const step = message.type === "adopt" ? state.steps[message.step] : undefined;
    const isLost = step?.status === "running" && lastAttempt(step)?.phase === "lost";
    if (isLost) take({ type: "step.finished", step: step.path, status: "failed", reason: DECLARED_LOST }, at);
  }
  return state;
}

function judge(state: RunState, { id, at, message }: InboxEntry): readonly RunEvent[] | Refusal {
  switch (message.type) {
    case "stop":
      if (isRunFinal(state.status) || restsAnyway(state)) return [];
      return [
        ...(state.status === "planned" ? [{ type: "run.started" } as const] : []),
        {
          type: "run.paused",
          reason: "stopped",
          message: message.reason ?? ownText("stopped on request"),
          request: { id, at },
        },
      ];
    case "adopt":
      return adopted(state, message);
    case "approve":
      return approved(state, message);
    case "reject": {
      const { step, note = null, by } = message;
      return decided(state, { step, approved: false, pick: null, note, ...(by && { by }) });
    }
    case "comment": {
      const { step, comment } = message;
      return whyUncommentable(state, step) ?? [{ type: "comment.added", step, comment }];
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

export function whyUnadoptable(state: RunState, path: string): Refusal | null {
  const next = `showrunner show ${state.runId}`;
  const step = Object.hasOwn(state.steps, path) ? state.steps[path]! : null;
  if (step === null) return { why: `run "${state.runId}" has no step ${path}`, next };
  const attempt = lastAttempt(step);
  if (attempt === null || !isForPerson(attempt)) return { why: `${path} is ${step.status}, not unresolved`, next };
  return isRunFinal(state.status) ? { why: `the run is ${state.status}`, next } : null;
}

function adopted(state: RunState, message: InboxMessage & { readonly type: "adopt" }): readonly RunEvent[] | Refusal {
  const { step, jobId, file } = message;
  const attempt = Object.hasOwn(state.steps, step) ? lastAttempt(state.steps[step]!) : null;
  if (jobId !== null && attempt?.phase !== "unresolved" && attempt?.jobId === jobId) return [];
  const refusal = whyUnadoptable(state, step);
  if (refusal !== null) return refusal;
  const { n, jobId: known, unresolved } = attempt!;
  const events = leftToPerson(attempt!, step);
  if (file !== undefined) return [...events, ...givenEvents(attempt!, step, file), ...goingOn(state, "unresolved")];
  const isKnown = (request: { readonly jobId: string | null }) => request.jobId === jobId;
  const isTaken = Object.values(state.steps).some(({ attempts }) => attempts.some(isKnown));
  if (jobId !== null && jobId !== known && isTaken) {
    const list = `showrunner adopt ${state.runId} ${step}   (lists the jobs that the step may have created)`;
    return { why: `${jobId} already belongs to another step`, next: list };
  }
  // The job exists, but a part of its result is missing. The person gives up that part and keeps the other outputs.
  const isAccepted = jobId === null && unresolved === "incomplete";
  const result = isAccepted ? { jobId: known, isAccepted: true as const } : { jobId };
  return [...events, { type: "job.adopted", step, attempt: n, ...result }, ...goingOn(state, "unresolved")];
}

function leftToPerson({ n: attempt, phase, doubt }: AttemptState, step: string): readonly RunEvent[] {
  if (phase === "unresolved") return [];
  return [{ type: "job.unresolved", step, attempt, message: cleanText(doubt!.message), cause: "no answer" }];
}

function whyUncommentable(state: RunState, path: string): Refusal | null {
  const next = `showrunner show ${state.runId}`;
  const isApproval = Object.hasOwn(state.steps, path) && traitsOf(planStep(state, path)).decision !== null;
  if (!isApproval) return { why: `run "${state.runId}" has no approval ${path}`, next };
  const isFull = (state.steps[path]!.comments?.length ?? 0) >= MOST_COMMENTS;
  return isFull ? { why: `${path} already has ${MOST_COMMENTS} comments, the maximum`, next } : null;
}

/**
 * Returns the events for a file that a person supplies as the attempt's result. The attempt's cost is unknown, so the
 * reserved amount is recorded as its cost.
 */
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

/** Returns whether the message contains a response that cannot be obtained again. */
function isOwed(state: RunState, { step, of, events }: InboxMessage & { readonly type: "performed" }): boolean {
  const { provider } = traitsOf(planStep(state, step));
  const attempt = lastAttempt(state.steps[step]!);
  if (isRunFinal(state.status) || provider === null || attempt?.key !== of) return false;
  const { phase, operation } = attempt;
  // If one request is refused, another request with the same key may still have been accepted.
  if (provider.promise === "keyed" && events.some(({ type }) => type === "job.submit.refused")) return false;
  return phase === "unresolved"
    ? operation === undefined
    : jobPhases.submitting.has(phase) && provider.promise !== "keyed";
}

/** Returns an id for the step's current work; null if there is none. Each attempt and each input has a different id. */
export function workOf(state: RunState, path: string): string | null {
  const { status, attempts, value, chosen } = state.steps[path]!;
  if (isRunFinal(state.status) || status !== "running" || value !== undefined || chosen !== null) return null;
  const plan = planStep(state, path);
  const inputs = runKind(plan.kind).localInputs(plan, state);
  return `${attempts.length}.${hash("sha256", JSON.stringify(inputs)).slice(0, 16)}`;
}

function restsAnyway({ status, pause }: RunState): boolean {
  if (status !== "paused") return false;
  return pause?.reason === "stopped" || pause?.reason === "approval" || pause?.reason === "unresolved";
}

function approved(
  state: RunState,
  message: InboxMessage & { readonly type: "approve" },
): readonly RunEvent[] | Refusal {
  const { step, pick, note = null, value, by } = message;
  const undecidable = whyUndecidable(state, step);
  if (undecidable !== null) return undecidable;
  const next = `showrunner approve ${state.runId}   (lists pending decisions and the results to review)`;
  const decision = traitsOf(planStep(state, step)).decision!;
  const offer = offered(state, decision);
  const requested = message.chosen;
  const isWanted = (candidate: Chosen) => candidate.step === requested?.step && candidate.index === requested.index;
  const index = requested === undefined ? (pick ?? 0) : offer.findIndex(isWanted);
  const chosen = decision.choose || offer.length === 1 ? offer[index] : undefined;
  if (decision.choose && (pick === undefined || chosen === undefined)) {
    return { why: `the result picked for ${step} is no longer offered`, next };
  }
  if (value !== undefined && changeable(decision, chosen) === null) {
    return { why: nothingChangeable(decision), next };
  }
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

function decided(state: RunState, decision: PersonsDecision): readonly RunEvent[] | Refusal {
  const undecidable = whyUndecidable(state, decision.step);
  return undecidable ?? [...decisionEvents(state, decision), ...goingOn(state, "approval")];
}

function goingOn(state: RunState, waitedFor: PauseReason): readonly RunEvent[] {
  return state.status === "paused" && state.pause?.reason === waitedFor ? [{ type: "run.resumed" }] : [];
}
