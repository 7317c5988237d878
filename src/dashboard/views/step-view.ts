import type { AttemptState, PlanStep, RunState, StepState } from "../../index.ts";
import { cut } from "./cut.ts";
import { decisionOf } from "./decision.ts";
import { currentOutputs, mediaOf } from "./media-view.ts";
import type { AttemptView, StepPhase, StepView } from "./wire.ts";

/** A step as the page shows it. */
export function stepView(state: RunState, plan: PlanStep): StepView {
  const step = state.steps[plan.path]!;
  const attempt = step.attempts.length > step.superseded ? (step.attempts.at(-1) ?? null) : null;
  const attempts = [...step.attempts.filter(isTold).map((one) => attemptView(one, step)), ...chatViews(plan, step)];
  return {
    path: plan.path,
    kind: plan.kind,
    model: "model" in plan ? plan.model : null,
    yields: plan.yields,
    needs: plan.needs,
    status: step.status,
    phase: phaseOf(plan, step, attempt),
    reason: reasonOf(step, attempt),
    ask: askOf(plan),
    startedAt: step.startedAt,
    finishedAt: step.finishedAt,
    quoteMicros: attempt?.quote?.costMicros ?? null,
    basis: attempt?.quote?.basis ?? null,
    costMicros: sumOrNull(attempts.map(({ costMicros }) => costMicros)),
    heldMicros: attempts.reduce((sum, { money, holdMicros }) => sum + (money === "held" ? holdMicros : 0), 0),
    attempts,
    media: mediaOf(state, step),
    voiceId: currentOutputs(step).find(({ voiceId }) => voiceId !== null)?.voiceId ?? null,
    decision: decisionOf(state, plan, step),
    reusedFrom: step.reusedFrom?.runId ?? null,
  };
}

/** The step before anything ran, as a plan shows it. */
export function plannedView(plan: PlanStep): StepView {
  return {
    path: plan.path,
    kind: plan.kind,
    model: "model" in plan ? plan.model : null,
    yields: plan.yields,
    needs: plan.needs,
    status: "waiting",
    phase: "waiting",
    reason: null,
    ask: askOf(plan),
    startedAt: null,
    finishedAt: null,
    quoteMicros: null,
    basis: null,
    costMicros: null,
    heldMicros: 0,
    attempts: [],
    media: [],
    voiceId: null,
    decision: null,
    reusedFrom: null,
  };
}

function isTold({ key, error }: AttemptState): boolean {
  return key !== null || error !== null;
}

function attemptView(attempt: AttemptState, step: StepState): AttemptView {
  return {
    n: attempt.n,
    phase: attempt.phase,
    model: attempt.model,
    jobId: attempt.jobId,
    quoteMicros: attempt.quote?.costMicros ?? null,
    basis: attempt.quote?.basis ?? null,
    holdMicros: attempt.holdMicros,
    costMicros: attempt.costMicros,
    money: attempt.money,
    error: attempt.error === null ? null : `${attempt.error.code}: ${cut(attempt.error.message, 500)}`,
    submittedAt: attempt.submittedAt ?? attempt.intendedAt,
    completedAt: attempt.completedAt,
    superseded: attempt.n <= step.superseded,
  };
}

const chatMoney = { sent: "held", answered: "settled", failed: "settled", abandoned: "unconfirmed" } as const;

function chatViews(plan: PlanStep, step: StepState): readonly AttemptView[] {
  return step.chats.map((chat) => ({
    n: chat.n,
    phase: chat.phase,
    model: "model" in plan ? plan.model : null,
    jobId: null,
    quoteMicros: null,
    basis: null,
    holdMicros: chat.holdMicros,
    costMicros: chat.costMicros,
    money: chatMoney[chat.phase],
    error: chat.error === null ? null : `${chat.error.code}: ${cut(chat.error.message, 500)}`,
    submittedAt: chat.sentAt,
    completedAt: null,
    superseded: chat.n <= step.superseded,
  }));
}

const jobPhases: Readonly<Record<string, StepPhase>> = {
  "submitting.sent": "submitting",
  "submitting.unknown": "submitting",
  inQueue: "queued",
  inProgress: "rendering",
  completed: "downloading",
  unresolved: "unresolved",
};

const kindPhases: Readonly<Record<PlanStep["kind"], StepPhase>> = {
  upload: "uploading",
  job: "submitting",
  chat: "asking",
  task: "working",
  approve: "approval",
  pick: "working",
  expand: "working",
};

function phaseOf(plan: PlanStep, step: StepState, attempt: AttemptState | null): StepPhase {
  if (step.status !== "running") return step.status;
  return jobPhases[attempt?.phase ?? ""] ?? kindPhases[plan.kind];
}

function reasonOf(step: StepState, attempt: AttemptState | null): string | null {
  if (step.reason !== null) return cut(step.reason, 500);
  return step.status === "failed" && attempt?.error != null ? cut(attempt.error.message, 500) : null;
}

/** What the step asks for, in short: the first of these that its input has. */
function askOf(plan: PlanStep): string | null {
  if (plan.kind === "upload") return plan.file.path.split(/[\\/]/).at(-1) ?? null;
  if (plan.kind === "approve") return plan.message === null ? null : cut(plan.message, 200);
  if (!("input" in plan)) return null;
  const input = plan.input;
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  for (const name of ["prompt", "text", "name"]) {
    const value = (input as { readonly [name: string]: unknown })[name];
    if (typeof value === "string") return cut(value, 200);
  }
  return null;
}

function sumOrNull(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? null : known.reduce((sum, amount) => sum + amount, 0);
}
