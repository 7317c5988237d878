import { isRunFinal, lastAttempt, type RunState, type StepState } from "../journal/state.ts";
import { formatUsd, wholeCents } from "../kit/money.ts";
import { shellWord } from "../kit/value-text.ts";
import { type PlanStep, type Reference, traitsOf } from "../plan/plan.ts";
import { offered } from "./kinds/approve.ts";
import { pastedFlag, projectedMicros } from "./money.ts";
import { lost } from "./retention.ts";
import { isMadeUpFor } from "./second-choice.ts";
import { isForPerson } from "./waiting.ts";

export interface NextCommand {
  readonly command: string;
  readonly note: string | null;
}

const UNQUOTED_MICROS = 1_000_000;

/**
 * Returns the command that continues the run. Null if nothing is left to do or a process is already executing the run.
 */
export function nextCommand(state: RunState, { isInterrupted = false } = {}): NextCommand | null {
  if (isInterrupted)
    return resume(
      state,
      codeFlag(state),
      "the run's process has ended; resuming fetches the results of jobs that are already paid for",
    );
  if (state.status === "paused") return afterPause(state);
  if (!isRunFinal(state.status)) return null;
  if (state.status === "succeeded") return afterLateBill(state);
  return afterFailure(state);
}

function codeFlag({ planned }: RunState): readonly string[] {
  const isLost = planned.source === null && planned.plan.steps.some((step) => traitsOf(step).needsCode);
  return isLost ? ["--file", "pipeline.ts"] : [];
}

function resume({ runId }: RunState, words: readonly string[], note: string | null = null): NextCommand {
  return { command: ["showrunner resume", runId, ...words].map(String).join(" "), note };
}

function afterLateBill(state: RunState): NextCommand | null {
  for (const step of Object.values(state.steps)) {
    const { path, attempts } = step;
    const held = attempts.find(({ money }) => money === "held");
    if (step.isGivenUp === true) {
      const { jobId } = held ?? lastAttempt(step)!;
      return resume(state, [], `waits again for ${path}: its job ${jobId} is still running`);
    }
    if (held === undefined) continue;
    const bill = held.impossibleBill;
    const why = bill === undefined ? "its bill is missing" : `the service reports ${bill}, which is impossible`;
    return resume(state, [], `checks the cost of ${path} again: ${why}`);
  }
  return null;
}

function afterPause(state: RunState): NextCommand {
  const { runId } = state;
  switch (state.pause?.reason) {
    case "funds":
      return resume(
        state,
        ["--wait-for-funds 30m", ...limitWords(state)],
        "if the wallet already has funds, you can omit --wait-for-funds",
      );
    case "budget":
      return resume(state, budgetFlag(state));
    case "cap": {
      const { resumeAt, flag } = state.pause;
      const from = resumeAt === null ? "after the cap resets" : `from ${new Date(resumeAt).toISOString()} on`;
      const higher = flag === null ? "" : `; to continue at once, set a higher cap: ${pastedFlag(flag)}`;
      return resume(
        state,
        limitWords(state),
        `run this command ${from}; if a worker is running, it continues the run automatically${higher}`,
      );
    }
    case "approval":
      return decision(state);
    case "code":
    case "drift":
      return resume(state, ["--file", fileOf(state)], "shows what changed and what the changes cost");
    case "unresolved": {
      const unresolved = stepsWith(state, ({ status }) => status === "unresolved");
      const isIncomplete = ({ path }: PlanStep) => lastAttempt(state.steps[path]!)?.unresolved === "incomplete";
      const [step, ...others] = unresolved.filter((entry) => !isIncomplete(entry));
      if (step === undefined) {
        const [first] = unresolved;
        if (first === undefined) return resume(state, []);
        const none = `showrunner adopt ${runId} ${shellWord(first.path)} none`;
        return resume(state, [], `checks again for free; to keep the partial result, run: ${none}`);
      }
      const which = others.length === 0 ? ` ${shellWord(step.path)}` : "";
      const isOfProvider = lastAttempt(state.steps[step.path]!)?.provider !== undefined;
      const note =
        others.length > 0
          ? "asks about each unresolved step"
          : isOfProvider
            ? 'shows what to look for; then add the provider\'s file, or "none", to the command'
            : "lists the jobs that the step may have created";
      return { command: `showrunner adopt ${runId}${which}`, note };
    }
    case "files":
      if (state.pause.rerun !== undefined) {
        return resume(state, ["--rerun", shellWord(state.pause.rerun)], "reruns the step, which is charged again");
      }
      return resume(state, [], "fetches the missing files for free");
    case "late":
      return resume(state, [], "waits again; a worker continues the run automatically once the result arrives");
    case "credentials":
      return resume(state, [], "first set SHOWRUNNER_API_KEY to a key that the service accepts");
    case "unreachable":
      return resume(
        state,
        [],
        "run this command when the service is available again; add --give-up-after 1h to wait longer",
      );
    case "misdirected":
      return resume(state, [], "requests do not reach the service: first check the network and SHOWRUNNER_BASE_URL");
    default:
      return resume(state, [], unread(state));
  }
}

function unread(state: RunState): string | null {
  const [step] = stepsWith(state, ({ path }) => {
    const attempt = lastAttempt(state.steps[path]!);
    return attempt !== null && isForPerson(attempt);
  });
  if (step === undefined) return null;
  return `asks the provider again; to resolve ${step.path} yourself, run: showrunner adopt ${state.runId} ${shellWord(step.path)}`;
}

function limitWords({ pause }: RunState): readonly string[] {
  return (pause?.limitFlags ?? []).map(shellWord);
}

function budgetFlag(state: RunState): readonly string[] {
  const required = state.pause?.requiredMicros ?? null;
  if (required === null) return ["--max-unquoted", formatUsd(UNQUOTED_MICROS)];
  const { budgetMicros } = state;
  const isShared = state.planned.budgetTag !== undefined;
  if (state.pause?.asks !== undefined && isShared) return ["--agree", wholeCents(required)];
  // Raises the amount of the cap and keeps the time zone in which its days are counted.
  if (state.pause?.flag) return [pastedFlag(state.pause.flag), ...limitWords(state).slice(2)];
  if (budgetMicros === null || required <= budgetMicros) return ["--spending-cap", wholeCents(required)];
  return ["--budget", wholeCents(Math.max(required, projectedMicros(state)))];
}

function decision(state: RunState): NextCommand {
  const { runId } = state;
  const waiting = stepsWith(state, (step) => traitsOf(step).decision !== null && step.status === "running");
  const open = waiting.filter(({ path }) => state.steps[path]!.approval === null);
  const step = open.map((planStep) => traitsOf(planStep).decision)[0] ?? null;
  if (step === null && waiting.length > 0) return resume(state, [], "applies the decision");
  if (step === null) return { command: `showrunner approve ${runId}`, note: "lists pending decisions" };
  const count = step.choose ? offered(state, step).length : 0;
  const pick = step.choose ? " --pick 1" : "";
  const command = `showrunner approve ${runId} ${shellWord(step.path)}${pick} --resume`;
  const choice = count > 1 ? `pick 1 to ${count}; ` : "";
  return { command, note: `${choice}see the results with: showrunner approve ${runId}` };
}

function afterFailure(state: RunState): NextCommand {
  const failed = stepsWith(state, ({ path, status }) => {
    return (status === "failed" || status === "partial") && !isMadeUpFor(state, path);
  });
  // Decisions that a person rejected, or that failed because the inputs no longer exist.
  const rejected = failed.filter(
    (step) => traitsOf(step).decision !== null && state.steps[step.path]!.approval?.approved !== true,
  );
  if (rejected.length > 0 && rejected.length === failed.length) {
    const shown = rejected.flatMap((step) => shownBy(traitsOf(step).decision?.shows ?? [], step.path));
    const words = [...new Set(shown)].flatMap((path) => ["--rerun", shellWord(path)]);
    return resume(
      state,
      words,
      "replaces the rejected or missing results (which costs money again), then asks for a decision again",
    );
  }
  if (failed.length > 0 && failed.every((step) => isUnplanned(step, state.steps[step.path]!))) {
    const file = state.planned.source === null ? ["--file", fileOf(state)] : [];
    return resume(state, file, "first fix the code; the run then continues from the failed expansion");
  }
  const expired = [...new Set(lost(state).map(({ step }) => step))].flatMap((path) => ["--rerun", shellWord(path)]);
  if (expired.length > 0) {
    const words = failed.length === 0 ? expired : ["--rerun-failed", ...expired];
    return resume(
      state,
      words,
      "reruns the steps whose outputs expired before they were downloaded; each is charged again",
    );
  }
  const isDefinite = failed.some(({ path }) => state.steps[path]!.attempts.at(-1)?.error?.retryable === false);
  const note = isDefinite
    ? "the same input would be refused again: correct the input with -i name=value, or pass corrected code with --file FILE"
    : "reruns the failed steps and the steps that depend on them";
  return resume(state, ["--rerun-failed"], note);
}

function shownBy(shows: readonly Reference[], path: string): readonly string[] {
  const produced = shows.filter(({ $ref }) => $ref.as !== "upload").map(({ $ref }) => $ref.step);
  return produced.length === 0 ? [path] : produced;
}

function isUnplanned(step: PlanStep, { expanded }: StepState): boolean {
  return traitsOf(step).expansion !== null && expanded === null;
}

type Named = PlanStep & { readonly status: StepState["status"] };

function stepsWith({ planned, steps }: RunState, is: (step: Named) => boolean): readonly PlanStep[] {
  return planned.plan.steps.filter((step) => is({ ...step, status: steps[step.path]!.status }));
}

export function fileOf({ planned: { source } }: RunState): string {
  if (source === null) return "pipeline.ts";
  return shellWord(source.exportName === "default" ? source.file : `${source.file}#${source.exportName}`);
}
