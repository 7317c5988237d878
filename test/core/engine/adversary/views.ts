import { isRunFinal, lastAttempt, type RunState, type StepState } from "../../../../src/core/journal/state.ts";
import { RunView } from "../../../../src/core/view/run-view.ts";
import type { RunDocument } from "../../../../src/index.ts";
import { runHead } from "../../../../src/studio/dashboard/views/run-head.ts";
import { PaidService } from "./paid-service.ts";
import { SimProcess } from "./sim-process.ts";
import { RUN, type SimWorld } from "./sim-world.ts";

/** Checks that `show` and the dashboard report a run at rest in the same way as `resume`, with all its details. */
export async function checkViews(world: SimWorld, answer: RunDocument): Promise<void> {
  let shown: RunDocument | null = null;
  const thrown = await new SimProcess(world).perform(async (show) => {
    shown = await show.show(RUN);
  });
  if (thrown !== null) return world.fail(`show throws ${String(thrown)}`);
  const row = (await world.journal.run(RUN))!;
  const state = await world.state();
  const head = runHead(new RunView(state), { row, driveError: null, drivenHere: false });
  const said = (view: Pick<RunDocument, "missing" | "next"> & { readonly status: string }) =>
    JSON.stringify([view.status, view.missing, view.next]);
  if (said(shown!) !== said(answer)) world.fail(`show says ${said(shown!)}, the answer was ${said(answer)}`);
  if (said(head) !== said(answer)) world.fail(`the dashboard says ${said(head)}, the answer was ${said(answer)}`);
  if (answer.next === null && (answer.missing.length > 0 || answer.status !== "succeeded"))
    world.fail(`${answer.status} lacks ${JSON.stringify(answer.missing)}, and no command is named`);
  checkNamed(world, state, answer);
}

/** Checks that the report names everything that is paid for but not stored, and everything that waits for a person. */
function checkNamed(world: SimWorld, state: RunState, { missing }: RunDocument): void {
  const named = new Set(missing.map(({ step }) => step));
  for (const step of Object.values(state.steps)) {
    const why = whyLacking(world, state, step);
    if (why !== null && !named.has(step.path)) world.fail(`${step.path} ${why}, which nobody says`);
  }
  for (const { text, what, until } of missing) {
    if (what === "file" && until === null) world.fail(`until when is not said: ${text}`);
  }
}

function whyLacking(world: SimWorld, state: RunState, step: StepState): string | null {
  if (step.status === "failed" && state.status !== "succeeded") return "failed";
  if (step.status === "unresolved") return "is unresolved";
  const isAsked = step.status === "running" && world.options.plan.approvals.includes(step.path);
  if (isAsked && step.approval === null && !isRunFinal(state.status)) return "waits for a decision";
  for (const attempt of step.attempts) {
    const job = attempt.key === null ? null : world.service.jobOfKey(attempt.key);
    if (job === null || world.givenUp.has(attempt.key!)) continue;
    if (attempt.costMicros === null) return `has no bill for ${job.jobId}`;
    if (attempt !== lastAttempt(step) || job.failure !== null || world.isGone(job)) continue;
    for (let index = 0; index < job.outputs; index++) {
      if (attempt.outputs[index]?.copy?.sha256 !== PaidService.hashOf(job.jobId, index))
        return `has no file of output ${index} of ${job.jobId}`;
    }
  }
  return null;
}
