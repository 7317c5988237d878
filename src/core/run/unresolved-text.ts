import { type AttemptState, lastAttempt, type RunState, type StepState, UNREAD_MS } from "../journal/state.ts";
import { formatUsd } from "../kit/money.ts";
import { shellWord } from "../kit/shell-word.ts";
import { jobPhases } from "../lifecycle/index.ts";

/** Whether a person may say what became of an attempt: nobody else can tell, or its provider has not for a while, though it is still asked. */
export function isForPerson({ phase, doubt }: Pick<AttemptState, "phase" | "doubt">): boolean {
  if (phase === "unresolved") return true;
  return jobPhases.accepted.has(phase) && doubt?.isUnread === true && (doubt.saidForMs ?? 0) >= UNREAD_MS;
}

/** What is known of a step that a person has to look into, what stays reserved for it, and what to do: the same words everywhere. */
export function unresolvedText({ runId }: Pick<RunState, "runId">, step: StepState): string {
  const { path, reason } = step;
  const { phase, doubt, unresolved = null, provider, operation, holdMicros = 0 } = lastAttempt(step) ?? {};
  const adopt = `showrunner adopt ${runId} ${shellWord(path)}`;
  const isAsked = phase !== "unresolved" && doubt !== undefined;
  const asks = isAsked
    ? "; it is asked again until it answers"
    : `; showrunner resume ${runId} asks once more, at no cost`;
  const again = operation === undefined ? "" : asks;
  const advice =
    provider !== undefined
      ? `Look at your account at ${provider}, then give the file that it made, or say that it made nothing: ${adopt} <file|none>${again}`
      : unresolved === "incomplete"
        ? `Look again, at no cost: showrunner resume ${runId}; or keep what there is, without the rest: ${adopt} none`
        : `Say which job it is: ${adopt} <job-id|none>`;
  const held = holdMicros === 0 ? "" : `; up to $${formatUsd(holdMicros)} stays reserved`;
  const why = reason ?? (isAsked ? doubt.message : "its submit was never answered");
  return `${path}: ${why}${held}. ${advice}`;
}
