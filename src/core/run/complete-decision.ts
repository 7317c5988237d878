import type { RunEvent } from "../journal/events.ts";
import type { RunState } from "../journal/state.ts";
import { type Command, commandId } from "./command.ts";
import type { Decision } from "./decision.ts";
import type { DecisionBuilder } from "./decision-builder.ts";
import { undecided } from "./kinds/approve.ts";
import { runOutcome } from "./outcome.ts";
import type { ProducedOutput } from "./resolve.ts";
import { expiryOf, uncopied } from "./retention.ts";
import { secondGate } from "./second-choice.ts";
import { unresolvedText } from "./unresolved-text.ts";
import { askingIds, endWaiting, lateSteps, wakeForLate } from "./waiting.ts";

/** What follows once all steps were decided: less where others may not be needed any more, more where nothing is left to do. */
export function completeDecision(builder: DecisionBuilder): Decision {
  if (builder.mayChangeNeeds) return withoutNewWork(builder);
  if (builder.events.length === 0 && builder.stoppedBy !== null) cancelRemaining(builder, builder.stoppedBy);
  const late = lateSteps(builder);
  const asking = askingIds(builder.state, late, { all: true });
  const { active } = builder.context;
  const waitsOnly = active.size === asking.filter((id) => active.has(id)).length;
  const asksOnly = builder.commands.every((command) => asking.includes(commandId(command)));
  if (builder.events.length === 0 && asksOnly && waitsOnly) finishOrPause(builder, late);
  wakeForLate(builder, asking);
  return builder;
}

/** Commands that start no new work; a repeated send counts as one of them. */
const written: ReadonlySet<RunEvent["type"]> = new Set([
  "step.finished",
  "chat.abandoned",
  "job.unresolved",
  "job.submit.resent",
]);

/** A step ended in this decision, so that others may no longer be needed: start nothing before that is decided. */
function withoutNewWork({ events, commands }: DecisionBuilder): Decision {
  const ends = new Set(events.flatMap((event) => (event.type === "step.finished" ? [event.step] : [])));
  const isLeft = (event: RunEvent) => {
    if (event.type === "step.started") return ends.has(event.step);
    return written.has(event.type);
  };
  const isSeenThrough = (command: Command) => {
    const { type } = command;
    if (type === "submit" || type === "generate") return command.mayExist;
    return type === "follow" || type === "settle" || type === "download" || type === "operation";
  };
  return { events: events.filter(isLeft), commands: commands.filter(isSeenThrough), wakeAt: null };
}

/** On a failFast failure, start no new work; jobs at the service are completed. */
function cancelRemaining(builder: DecisionBuilder, reason: string): void {
  for (const { path } of builder.context.order) {
    const step = builder.state.steps[path]!;
    if (builder.isIdle(step)) builder.finish(step, "cancelled", `${reason} failed, which stops the run`);
  }
}

/** Nothing is in flight and nothing follows: the run has finished, or a person must act. */
function finishOrPause(builder: DecisionBuilder, late: readonly string[]): void {
  const { state, context } = builder;
  const lacking = uncopied(state);
  if (builder.index.openSteps === 0 && lacking.length === 0) return finishRun(builder);
  if (builder.wakeAt !== null || state.status !== "running") return;
  builder.refuseWaiting();
  if (builder.events.length > 0) return;
  const stuck = context.order.map(({ path }) => state.steps[path]!).find(({ status }) => status === "unresolved");
  if (stuck !== undefined) return builder.pauseNow("unresolved", unresolvedText(state, stuck));
  const unbilled = context.order.map(({ path }) => secondGate(state, path)).find((gate) => gate?.is === "open");
  if (unbilled?.is === "open" && unbilled.unbilled !== null) {
    const ended = state.steps[unbilled.unbilled]!.status === "failed" ? "failed" : "was made before a step failed";
    const problem = `${unbilled.unbilled} ${ended}, and whether it was charged is not known yet, so that nothing else is bought in its place`;
    return builder.pauseNow("unresolved", `${problem}. Ask again, at no cost: showrunner resume ${state.runId}`);
  }
  const [first, ...others] = undecided(builder);
  if (first === undefined) {
    if (lacking.length > 0) return builder.pauseNow("files", lackText(state, lacking));
    return late.length === 0 ? undefined : endWaiting(builder, late);
  }
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  const asks = first.message === null ? "" : ` (${JSON.stringify(first.message)})`;
  builder.pauseNow(
    "approval",
    `${first.path}${more} waits for a decision${asks}. See and decide: showrunner approve ${state.runId}`,
  );
}

/** What is paid and not here, until when it can be had, and how. */
function lackText({ runId, steps }: RunState, [first, ...others]: readonly ProducedOutput[]): string {
  const { step, output } = first!;
  const what = `${step}: output ${output.index} is not here`;
  const why = output.uncopied === undefined ? "" : ` (${output.uncopied})`;
  const more = others.length === 0 ? "" : `; nor ${others.length === 1 ? "is 1 other" : `are ${others.length} others`}`;
  const expiresAt = expiryOf(steps[step]!);
  const until = expiresAt === null ? "" : ` until ${new Date(expiresAt).toISOString()}`;
  return `${what}${why}${more}. The service keeps it${until}. Fetch it again, at no cost: showrunner resume ${runId}`;
}

function finishRun(builder: DecisionBuilder): void {
  const last = runOutcome(builder.state);
  if (builder.dueOrWake("place") && last.toPlace.length > 0) return builder.issue({ type: "place" });
  if (builder.wakeAt !== null) return;
  if (builder.state.status === "paused") builder.events.push({ type: "run.resumed" });
  else builder.events.push({ type: "run.finished", status: last.status, message: last.message });
}
