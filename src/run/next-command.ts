import { isRunFinal, type RunState, type StepState } from "../journal/state.ts";
import { formatUsd } from "../money.ts";
import { traitsOf } from "../plan/index.ts";
import type { PlanStep, Reference } from "../plan/plan.ts";
import { shellWord } from "../shell-word.ts";
import { offered } from "./kinds/approve.ts";

/** The command that continues a run, as it can be pasted into a shell. */
export interface NextCommand {
  readonly command: string;
  /** A remark on the command; null when it needs none. */
  readonly note: string | null;
}

/** Smallest amount that is suggested for jobs without a price in advance, micro-dollars. */
const UNQUOTED_MICROS = 1_000_000;
const CENT_MICROS = 10_000;

/** The next command of a person; null when nothing is left to do, or a process drives the run. */
export function nextCommand(state: RunState, { isInterrupted = false } = {}): NextCommand | null {
  if (isInterrupted) return resume(state, [], "its process has ended; jobs already paid for are collected");
  if (state.status === "paused") return afterPause(state);
  if (!isRunFinal(state.status) || state.status === "succeeded") return null;
  return afterFailure(state);
}

function resume({ runId }: RunState, words: readonly string[], note: string | null = null): NextCommand {
  return { command: ["showrunner resume", runId, ...words].map(String).join(" "), note };
}

function afterPause(state: RunState): NextCommand {
  const { runId } = state;
  switch (state.pause?.reason) {
    case "funds":
      return resume(state, ["--wait-for-funds 30m"], "or without the flag, once there are funds");
    case "budget":
      return resume(state, budgetFlag(state));
    case "cap": {
      const { resumeAt, flag } = state.pause;
      const from = resumeAt === null ? "once the cap begins anew" : `from ${new Date(resumeAt).toISOString()} on`;
      const note = `${from}, as a worker does by itself${flag === null ? "" : `; at once with ${flag}`}`;
      return resume(state, [], note);
    }
    case "approval":
      return decision(state);
    case "code":
    case "drift":
      return resume(state, ["--file", fileOf(state)], "says what changed and what that costs");
    case "unresolved": {
      const [step, ...others] = stepsWith(state, ({ status }) => status === "unresolved");
      if (step === undefined) return resume(state, []);
      const which = others.length === 0 ? ` ${shellWord(step.path)}` : "";
      const note =
        others.length === 0
          ? "lists the jobs that it may have created"
          : "asks for each of them; --all adopts the unambiguous ones";
      return { command: `showrunner adopt ${runId}${which}`, note };
    }
    case "credentials":
      return resume(state, [], "with SHOWRUNNER_API_KEY set to a key that the service accepts");
    case "unreachable":
      return resume(state, [], "once the service is available; --give-up-after 1h waits for it longer");
    case "misdirected":
      return resume(state, [], "once the network, or SHOWRUNNER_BASE_URL, leads to the service");
    default:
      return resume(state, []);
  }
}

/** The limit that was reached, and the value that it needs. */
function budgetFlag(state: RunState): readonly string[] {
  const required = state.pause?.requiredMicros ?? null;
  if (required === null) return ["--max-unquoted", formatUsd(UNQUOTED_MICROS)];
  const { budgetMicros } = state;
  if (state.pause?.flag) return state.pause.flag.split(" ").map(shellWord);
  if (budgetMicros === null || required <= budgetMicros) return ["--spending-cap", dollars(required)];
  return ["--budget", dollars(Math.max(required, wholeMicros(state)))];
}

/** Spent, reserved, and the known prices of steps that have not run. */
function wholeMicros({ spentMicros, heldMicros, unconfirmedMicros, steps }: RunState): number {
  let sum = spentMicros + heldMicros + unconfirmedMicros;
  for (const { attempts } of Object.values(steps)) {
    const last = attempts.at(-1);
    if (last !== undefined && last.key === null) sum += last.quote?.costMicros ?? 0;
  }
  return sum;
}

function dollars(micros: number): string {
  return formatUsd(Math.ceil(micros / CENT_MICROS) * CENT_MICROS);
}

function decision(state: RunState): NextCommand {
  const { runId } = state;
  const waiting = stepsWith(state, (step) => traitsOf(step).decision !== null && step.status === "running");
  const step = waiting.map((one) => traitsOf(one).decision)[0] ?? null;
  if (step === null) return { command: `showrunner approve ${runId}`, note: "lists what waits" };
  const count = step.choose ? offered(state, step).length : 0;
  const pick = step.choose ? " --pick 1" : "";
  const command = `showrunner approve ${runId} ${shellWord(step.path)}${pick} --resume`;
  const choice = step.choose ? `1 to ${count} can be picked; ` : "";
  return { command, note: `${choice}see what it shows with: showrunner approve ${runId}` };
}

/** Failed steps are rerun; for a rejected approval, the steps that it showed. */
function afterFailure(state: RunState): NextCommand {
  const failed = stepsWith(state, ({ status }) => status === "failed" || status === "partial");
  // Rejected, or failed without a decision because its inputs no longer exist.
  const rejected = failed.filter(
    (step) => traitsOf(step).decision !== null && state.steps[step.path]!.approval?.approved !== true,
  );
  if (rejected.length > 0 && rejected.length === failed.length) {
    const shown = rejected.flatMap((step) => shownBy(traitsOf(step).decision?.shows ?? [], step.path));
    const words = [...new Set(shown)].flatMap((path) => ["--rerun", shellWord(path)]);
    return resume(state, words, "reruns what was rejected or no longer exists, at its price, and asks again");
  }
  if (failed.length > 0 && failed.every((step) => isUnplanned(step, state.steps[step.path]!))) {
    const file = state.planned.source === null ? ["--file", fileOf(state)] : [];
    return resume(state, file, "once the code is fixed: continues from that expansion");
  }
  const isDefinite = failed.some(({ path }) => state.steps[path]!.attempts.at(-1)?.error?.retryable === false);
  const note = isDefinite
    ? "the same input would be refused again: correct the input with -i name=value, or the code with --file FILE"
    : "reruns what failed and what depends on it";
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

/** The file that the run was planned from, as `--file` takes it. */
export function fileOf({ planned: { source } }: RunState): string {
  if (source === null) return "pipeline.ts";
  return shellWord(source.exportName === "default" ? source.file : `${source.file}#${source.exportName}`);
}
