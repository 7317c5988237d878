import { ShowrunnerError } from "../errors.ts";
import { next, type TransitionTable, tables } from "../lifecycle/index.ts";
import type { OutputFacts, StoredCopy, StoredEvent } from "./events.ts";
import { learnPrice, noteChatCharge, noteJobCharge } from "./overcharge.ts";
import { enterExpansion, isExpansion, leaveExpansion, replan, reset } from "./replan.ts";
import {
  type AttemptState,
  type ChatState,
  type JobPhase,
  type MoneyPhase,
  newStep,
  type OutputPhase,
  type OutputState,
  type RunPlanned,
  type RunState,
  type RunStatus,
  type StepState,
  type StepStatus,
} from "./state.ts";
import { countTime } from "./took.ts";

/** Version of {@link RunState}; a stored snapshot of another version is not used. */
export const FOLD_VERSION = 8;

/** The journal holds an event that its charts do not allow there: it was damaged, or written by something else. */
export class IllegalEventError extends ShowrunnerError {
  readonly code = "JOURNAL_ILLEGAL_EVENT";
  constructor(runId: string, seq: number, event: string, from: string) {
    super(
      `Run ${runId}, event ${seq}: ${event} cannot happen in state ${from}. The journal was damaged or written by another program; restore it from a copy.`,
    );
  }
}

/** The state of a run from its events, from the first on. */
export function fold(events: Iterable<StoredEvent>): RunState | null {
  let state: RunState | null = null;
  for (const stored of events) {
    if (state !== null) apply(state, stored);
    else if (stored.event.type === "run.planned") state = newRun(stored.runId, stored.event, stored.at, stored.seq);
    else throw new IllegalEventError(stored.runId, stored.seq, stored.event.type, "(nothing)");
  }
  return state;
}

export function newRun(runId: string, planned: RunPlanned, at: number, seq = 1): RunState {
  const steps: { [path: string]: StepState } = {};
  for (const { path } of planned.plan.steps) steps[path] = newStep(path);
  return {
    runId,
    seq,
    epoch: 0,
    planned,
    status: "planned",
    message: null,
    pause: null,
    away: null,
    createdAt: at,
    startedAt: null,
    finishedAt: null,
    took: { ms: 0, since: null, lastAt: at },
    steps,
    gone: [],
    formerNames: {},
    reruns: [],
    spentMicros: 0,
    heldMicros: 0,
    presumedMicros: 0,
    overcharges: {},
    files: [],
    budgetMicros: planned.budgetMicros,
    maxUnquotedMicros: planned.maxUnquotedMicros,
  };
}

/** Folds one more event into the state, in place; the state belongs to the caller alone. */
export function apply(state: RunState, stored: StoredEvent): void {
  const { event, at } = stored;
  const illegal = (from: string) => new IllegalEventError(state.runId, stored.seq, event.type, from);
  const move = (table: TransitionTable, from: string, type: string): string => {
    const to = next(table, from, type);
    if (to === null) throw illegal(from);
    return to;
  };
  const moveRun = (type: string) => {
    state.status = move(tables.run, state.status, type) as RunStatus;
  };
  const stepOf = (path: string): StepState => {
    const step = state.steps[path];
    if (step === undefined) throw illegal(`(no step ${path})`);
    return step;
  };
  const moveStep = (step: StepState, type: string) => {
    step.status = move(tables.step, step.status, type) as StepStatus;
  };
  const attemptOf = (path: string, n: number): AttemptState => {
    const attempt = stepOf(path).attempts[n - 1];
    if (attempt === undefined) throw illegal(`(no attempt ${n} of ${path})`);
    return attempt;
  };
  const moveJob = (attempt: AttemptState, type: string) => {
    const held = attempt.money === "held" ? attempt.holdMicros : 0;
    const [money, phase] = move(tables.job, `${attempt.money}|${attempt.phase}`, type).split("|");
    attempt.money = money as MoneyPhase;
    attempt.phase = phase as JobPhase;
    state.heldMicros += (attempt.money === "held" ? attempt.holdMicros : 0) - held;
  };
  const resolve = (step: StepState, attempt: AttemptState, type: string) => {
    moveStep(step, type);
    step.reason = null;
    attempt.unresolved = null;
  };
  const moveOutput = (output: OutputState, type: string) => {
    output.phase = move(tables.output, output.phase, type) as OutputPhase;
  };

  switch (event.type) {
    case "run.planned":
      throw illegal(state.status);
    case "lease.taken":
      state.epoch = event.epoch;
      break;
    case "run.started":
      moveRun(event.type);
      state.startedAt = at;
      break;
    case "run.account.moved":
      state.planned = { ...state.planned, baseUrl: event.baseUrl, keyId: event.keyId };
      break;
    case "run.budget.set":
      state.budgetMicros = event.budgetMicros;
      state.maxUnquotedMicros = event.maxUnquotedMicros;
      break;
    case "run.paused":
      moveRun(event.type);
      state.pause = {
        reason: event.reason,
        message: event.message,
        fundingUrl: event.fundingUrl ?? null,
        requiredMicros: event.requiredMicros ?? null,
        balanceMicros: event.balanceMicros ?? null,
      };
      if (event.reason === "approval") closeReruns(state);
      break;
    case "run.resumed":
      moveRun(event.type);
      if (state.pause?.reason === "unanswered") allowRepeats(state);
      state.pause = null;
      state.away = null;
      break;
    case "service.away":
      state.away = { since: at, reason: event.reason, message: event.message };
      break;
    case "service.back":
      state.away = null;
      break;
    case "run.finished":
      moveRun(`run.${event.status}`);
      state.pause = null;
      state.away = null;
      state.message = event.message;
      state.finishedAt = at;
      closeReruns(state);
      break;
    case "step.started": {
      const step = stepOf(event.step);
      moveStep(step, event.type);
      step.startedAt = at;
      break;
    }
    case "step.finished": {
      const step = stepOf(event.step);
      moveStep(step, `step.${event.status}`);
      step.reason = event.reason;
      step.unwanted = event.unwanted === true;
      step.pruned = event.pruned === true;
      step.finishedAt = at;
      break;
    }
    case "step.reset": {
      const { step, unlessSame = false, keepsPlan = false } = event;
      const { expanded } = stepOf(step);
      reset(state, stepOf(step), moveStep, { unlessSame, expanded: keepsPlan ? expanded : null });
      if (!keepsPlan && isExpansion(state, step)) leaveExpansion(state, step, moveStep);
      break;
    }
    case "step.restored":
      restore(stepOf(event.step), attemptOf(event.step, event.attempt), illegal);
      break;
    case "step.reused": {
      const step = stepOf(event.step);
      step.outputs = event.outputs.map((output) => ({ ...output, phase: reusedPhase(output) }));
      step.value = event.value;
      step.reusedFrom = event.from;
      break;
    }
    case "run.reopened":
      moveRun(event.type);
      state.finishedAt = null;
      state.message = null;
      break;
    case "rerun.requested": {
      const { requestId, steps } = event;
      if (state.reruns.some((known) => known.requestId === requestId)) throw illegal(`(rerun ${requestId})`);
      state.reruns.push({ requestId, steps, requestedAt: at, isOpen: true });
      break;
    }
    case "run.replanned":
      replan(state, event, moveStep);
      break;
    case "upload.stored":
      stepOf(event.step).upload = {
        sha256: event.sha256,
        sizeBytes: event.sizeBytes,
        contentType: event.contentType,
      };
      break;
    case "job.quoted": {
      const step = stepOf(event.step);
      if (event.attempt === step.attempts.length + 1) step.attempts.push(newAttempt(event.attempt));
      const attempt = attemptOf(event.step, event.attempt);
      moveJob(attempt, event.type);
      attempt.quote = { costMicros: event.costMicros, basis: event.basis };
      break;
    }
    case "job.submit.intended": {
      const attempt = attemptOf(event.step, event.attempt);
      attempt.holdMicros = event.holdMicros;
      moveJob(attempt, event.type);
      attempt.expectedMicros = attempt.quote?.costMicros ?? event.holdMicros;
      attempt.key = event.key;
      attempt.model = event.model;
      attempt.input = event.input;
      attempt.intendedAt = at;
      sentAt(attempt, at, event.clockOffsetMs);
      break;
    }
    case "job.submit.resent":
      sentAt(attemptOf(event.step, event.attempt), at, event.clockOffsetMs);
      break;
    case "job.submit.unknown": {
      const attempt = attemptOf(event.step, event.attempt);
      moveJob(attempt, event.type);
      sentAt(attempt, at, event.clockOffsetMs);
      break;
    }
    case "job.submit.withdrawn":
      moveJob(attemptOf(event.step, event.attempt), event.type);
      break;
    case "job.submit.refused": {
      const attempt = attemptOf(event.step, event.attempt);
      moveJob(attempt, event.type);
      attempt.error = event.error;
      break;
    }
    case "job.unresolved": {
      const attempt = attemptOf(event.step, event.attempt);
      moveJob(attempt, event.type);
      attempt.unresolved = event.cause;
      const step = stepOf(event.step);
      moveStep(step, event.type);
      step.reason = event.message;
      break;
    }
    case "job.found": {
      const attempt = attemptOf(event.step, event.attempt);
      moveJob(attempt, event.type);
      resolve(stepOf(event.step), attempt, event.type);
      break;
    }
    case "job.adopted": {
      const attempt = attemptOf(event.step, event.attempt);
      const type = event.jobId === null ? "job.lost" : "job.adopted";
      moveJob(attempt, type);
      resolve(stepOf(event.step), attempt, type);
      attempt.jobId = event.jobId;
      break;
    }
    case "job.submitted": {
      const attempt = attemptOf(event.step, event.attempt);
      moveJob(attempt, event.type);
      const step = stepOf(event.step);
      if (step.status === "unresolved") resolve(step, attempt, event.type);
      attempt.jobId = event.jobId;
      attempt.model = event.model;
      attempt.submittedAt = at;
      break;
    }
    case "job.started":
      moveJob(attemptOf(event.step, event.attempt), event.type);
      break;
    case "job.completed": {
      const attempt = attemptOf(event.step, event.attempt);
      moveJob(attempt, event.type);
      attempt.completedAt = at;
      attempt.outputs = event.outputs.map((facts) => {
        const output: OutputState = { ...facts, phase: "pending", copy: null };
        moveOutput(output, outputEvent(facts));
        return output;
      });
      break;
    }
    case "job.failed": {
      const attempt = attemptOf(event.step, event.attempt);
      moveJob(attempt, event.type);
      attempt.completedAt = at;
      attempt.error = event.error;
      break;
    }
    case "job.hold.raised": {
      const attempt = attemptOf(event.step, event.attempt);
      moveJob(attempt, event.type);
      state.heldMicros += event.holdMicros - attempt.holdMicros;
      attempt.holdMicros = event.holdMicros;
      break;
    }
    case "price.learned":
      learnPrice(state, event);
      break;
    case "job.settled": {
      const attempt = attemptOf(event.step, event.attempt);
      moveJob(attempt, event.type);
      noteJobCharge(state, attempt, event.costMicros);
      state.spentMicros += event.costMicros - (attempt.costMicros ?? 0);
      attempt.costMicros = event.costMicros;
      break;
    }
    case "output.downloaded":
    case "output.expired": {
      const { attempt: n, step } = event;
      const output = (n === 0 ? stepOf(step).outputs : attemptOf(step, n).outputs)?.[event.index];
      if (output === undefined) throw illegal(`(no output ${event.index} of ${event.step})`);
      moveOutput(output, event.type);
      if (event.type === "output.downloaded") {
        output.copy = { sha256: event.sha256, sizeBytes: event.sizeBytes, contentType: event.contentType };
      }
      break;
    }
    case "chat.intended": {
      const { attempt: n, holdMicros } = event;
      const { chats } = stepOf(event.step);
      if (n !== chats.length + 1 || chats.at(-1)?.phase === "sent") throw illegal(`(chat ${chats.length})`);
      const unknown = { costMicros: null, error: null, jobId: null, answer: null, endedAt: null };
      chats.push({ n, phase: "sent", holdMicros, ...unknown, sentAt: at });
      state.heldMicros += holdMicros;
      break;
    }
    case "chat.answered":
    case "chat.failed": {
      const step = stepOf(event.step);
      const chat = sentChat(step, event.attempt, illegal);
      chat.phase = event.type === "chat.answered" ? "answered" : "failed";
      chat.costMicros = event.costMicros;
      chat.jobId = event.jobId;
      chat.endedAt = at;
      state.heldMicros -= chat.holdMicros;
      state.spentMicros += event.costMicros;
      noteChatCharge(state, step.path, chat);
      if (event.type === "chat.answered") step.value = event.value;
      else {
        chat.error = event.error;
        chat.answer = event.answer ?? null;
      }
      break;
    }
    case "chat.abandoned": {
      const chat = sentChat(stepOf(event.step), event.attempt, illegal);
      chat.phase = "abandoned";
      chat.endedAt = at;
      state.heldMicros -= chat.holdMicros;
      state.presumedMicros += chat.holdMicros;
      break;
    }
    case "task.done": {
      const step = stepOf(event.step);
      step.value = event.value;
      step.outputs = event.files.map(({ name: _, sha256, sizeBytes, ...facts }): OutputState => {
        const contentType = facts.contentType ?? "application/octet-stream";
        return { ...facts, phase: "kept", copy: { sha256, sizeBytes, contentType } };
      });
      break;
    }
    case "task.failed":
      stepOf(event.step).failures.push({ at, error: event.error });
      break;
    case "approval.decided": {
      const step = stepOf(event.step);
      step.approval = { approved: event.approved, note: event.note };
      break;
    }
    case "pick.made":
      stepOf(event.step).chosen = event.chosen;
      break;
    case "expand.planned":
      stepOf(event.step);
      enterExpansion(state, event, moveStep);
      break;
    case "file.placed":
      state.files = state.files.filter(({ name }) => name !== event.name);
      state.files.push({
        ...{ name: event.name, step: event.step, index: event.index, file: event.file },
        manifest: event.manifest ?? null,
      });
      break;
    default:
      event satisfies never;
      throw illegal(state.status);
  }
  countTime(state.took, event.type, at);
  state.seq = stored.seq;
}

/** The run is over, or waits for a decision with nothing else to do: a wish from now on is another one. */
function closeReruns({ reruns }: RunState): void {
  for (const request of reruns) request.isOpen = false;
}

function sentAt(attempt: AttemptState, at: number, clockOffsetMs = attempt.serviceClockOffsetMs): void {
  attempt.lastSentAt = at;
  attempt.serviceClockOffsetMs = clockOffsetMs;
}

/** Whoever resumes a run that rests for unanswered requests wants them asked once more. */
function allowRepeats({ steps }: RunState): void {
  for (const { chats } of Object.values(steps)) {
    const last = chats.at(-1);
    if (last?.phase === "abandoned") last.mayRepeat = true;
  }
}

/** The attempt counts again; what was priced since and never sent is forgotten. */
function restore(step: StepState, attempt: AttemptState, illegal: (from: string) => Error): void {
  const later = step.attempts.slice(attempt.n);
  if (attempt.n !== step.voided || later.some(({ key }) => key !== null)) throw illegal(`(attempt ${attempt.n})`);
  step.attempts = step.attempts.slice(0, attempt.n);
  step.voided = attempt.n - 1;
}

function sentChat(step: StepState, n: number, illegal: (from: string) => Error): ChatState {
  const chat = step.chats[n - 1];
  if (chat?.phase !== "sent" || n !== step.chats.length) throw illegal(`(chat ${n} of ${step.path})`);
  return chat;
}

function reusedPhase(output: OutputFacts & { readonly copy: StoredCopy | null }): OutputPhase {
  if (output.voiceId !== null) return "available";
  if (output.assetId === null) return "kept";
  return output.copy === null ? "available" : "downloaded";
}

function newAttempt(n: number): AttemptState {
  return {
    n,
    phase: "planned",
    money: "none",
    quote: null,
    key: null,
    model: null,
    input: null,
    holdMicros: 0,
    expectedMicros: null,
    costMicros: null,
    jobId: null,
    error: null,
    intendedAt: null,
    lastSentAt: null,
    serviceClockOffsetMs: 0,
    unresolved: null,
    submittedAt: null,
    completedAt: null,
    outputs: [],
  };
}

function outputEvent(facts: OutputFacts): string {
  switch (facts.status) {
    case "COMPLETED":
      return "output.available";
    case "FAILED":
      return "output.failed";
    case "EXPIRED":
      return "output.expired";
    default:
      return facts.status satisfies never;
  }
}
