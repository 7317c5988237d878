import { lastAttempt, type RunState, type StepState } from "../journal/state.ts";
import { formatUsd } from "../money.ts";
import { shellWord } from "../shell-word.ts";

/** What is known of a step that a person has to look into, what stays reserved for it, and what to do: the same words everywhere. */
export function unresolvedText({ runId }: Pick<RunState, "runId">, step: StepState): string {
  const { path, reason } = step;
  const { unresolved = null, provider, operation, holdMicros = 0 } = lastAttempt(step) ?? {};
  const adopt = `showrunner adopt ${runId} ${shellWord(path)}`;
  const again = operation === undefined ? "" : `; showrunner resume ${runId} asks once more, at no cost`;
  const advice =
    provider !== undefined
      ? `Look at your account at ${provider}, then give the file that it made, or say that it made nothing: ${adopt} <file|none>${again}`
      : unresolved === "incomplete"
        ? `Look again, at no cost: showrunner resume ${runId}; or keep what there is, without the rest: ${adopt} none`
        : `Say which job it is: ${adopt} <job-id|none>`;
  const held = holdMicros === 0 ? "" : `; up to $${formatUsd(holdMicros)} stays reserved`;
  return `${path}: ${reason ?? "its submit was never answered"}${held}. ${advice}`;
}
