import type { AttemptState, RunState, StepState } from "../../../../src/core/journal/state.ts";
import type { GenerateStep } from "../../../../src/core/plan/kinds/generate.ts";
import { UNANSWERED } from "../../../../src/core/run/kinds/provider.ts";
import { Providers, type Work } from "./providers.ts";
import type { SimWorld } from "./sim-world.ts";

/** Checks the promises about requests to providers at the end of the run. */
export function checkProviders(world: SimWorld, state: RunState): void {
  const steps = new Map(Object.values(state.steps).map((step) => [step.path, step]));
  for (const work of world.providers.works.values()) {
    if (world.givenUp.has(work.key) || !world.providers.isMade(work)) continue;
    const attempt = steps.get(work.step)?.attempts.find(({ key }) => key === work.key);
    if (attempt === undefined) world.fail(`${work.id} was paid for and no attempt knows it`);
    else checkHad(world, { step: steps.get(work.step)!, attempt, work });
  }
  for (const plan of state.planned.plan.steps) {
    if (plan.kind === "generate") checkStep(world, plan, steps.get(plan.path)!);
  }
}

interface Had {
  readonly step: StepState;
  readonly attempt: AttemptState;
  readonly work: Work;
}

/** Checks that a paid work is stored, unless the provider denied it or the step treats lost responses as spent. */
function checkHad(world: SimWorld, { step, attempt, work }: Had): void {
  const named = `${step.path}: ${work.id}`;
  const least = Math.min(work.costMicros, attempt.holdMicros);
  if ((attempt.costMicros ?? 0) < least && !world.elsewhere.deceived.has(work.id)) {
    world.fail(`${named} cost ${work.costMicros}, and the journal says ${attempt.costMicros}`);
  }
  if (world.elsewhere.denied.has(work.id) || attempt.error?.code === UNANSWERED) return;
  for (let index = 0; index < work.outputs; index++) {
    const hash = attempt.outputs[index]?.copy?.sha256;
    if (hash === Providers.hashOf(work, index)) continue;
    // A person gives one file.
    const isGiven = attempt.outputs[0]?.copy?.sha256 === Providers.givenHash(work.kind);
    if (!isGiven) world.fail(`${named} has no file of output ${index}, and ${attempt.phase} is its attempt`);
  }
}

/** Checks that a step was paid for no more often than requested, and that it failed only for a valid reason. */
function checkStep(world: SimWorld, plan: GenerateStep, step: StepState): void {
  const { path, attempts } = step;
  const made = attempts.filter(({ key }) => key !== null && world.elsewhere.madeOf(key) !== null);
  const free = made.filter(({ key, error }) => {
    const { id } = world.elsewhere.madeOf(key!)!;
    return error?.code === UNANSWERED || world.givenUp.has(key!) || world.elsewhere.denied.has(id);
  });
  const most = plan.policy.attempts + world.reruns.size + free.length;
  if (made.length > most) world.fail(`${path} was paid for ${made.length} times, wanted ${most} times`);
  const attempt = attempts.at(-1);
  if (step.status !== "failed" || attempt?.key == null) return;
  const unjust = (why: string) => world.fail(`${path} failed for good (${step.reason}), although ${why}`);
  if (attempt.phase === "refused" && !world.elsewhere.refused.has(attempt.key)) unjust("nobody refused it");
  if (attempt.phase === "lost" && !world.givenUp.has(attempt.key)) unjust("nobody gave it up");
}
