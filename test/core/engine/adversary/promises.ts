import {
  type AttemptState,
  isRunFinal,
  lastAttempt,
  type OutputState,
  type RunState,
  type StepState,
} from "../../../../src/core/journal/state.ts";
import type { PlanStep } from "../../../../src/core/plan/plan.ts";
import { PaidService } from "./paid-service.ts";
import { promptOf } from "./plans.ts";
import { checkProviders } from "./provider-promises.ts";
import { RUN, type SimWorld } from "./sim-world.ts";

/** Codes of errors that mean a broken journal or program; all other errors of the library are valid results. */
const BROKEN = new Set(["JOURNAL_ILLEGAL_EVENT", "JOURNAL_DAMAGED"]);

/** Checks that a command threw only an error of the library that is a valid result. */
export function checkThrown(world: SimWorld, error: unknown): void {
  if (error === null) return;
  const { code, message, stack } = error as {
    readonly code?: unknown;
    readonly message?: string;
    readonly stack?: string;
  };
  world.note(() => `threw ${String(code)}: ${message}`);
  if (typeof code !== "string" || BROKEN.has(code)) world.fail(`threw ${stack ?? String(error)}`);
}

/** Checks the promises at the end of the run, after the troubles. */
export async function checkEnd(world: SimWorld): Promise<void> {
  const state = await world.state();
  if (!isRunFinal(state.status)) return world.fail(`the run is ${state.status}`);
  const attempts = Object.values(state.steps).flatMap((step) => step.attempts.map((attempt) => ({ step, attempt })));
  for (const job of world.service.jobs.values()) {
    if (job.key === null || world.givenUp.has(job.key)) continue;
    const found = attempts.find(({ attempt }) => attempt.jobId === job.jobId);
    if (found === undefined) world.fail(`${job.jobId} was paid for and no attempt knows it`);
    else checkCollected(world, found.step, found.attempt);
  }
  const { heldMicros, settledMicros } = await world.journal.ledger(RUN);
  if (heldMicros !== 0) world.fail(`${heldMicros} stay reserved`);
  const eventsMicros = state.spentMicros + state.unconfirmedMicros;
  if (settledMicros !== eventsMicros) world.fail(`the ledger says ${settledMicros}, the events ${eventsMicros}`);
  checkSpent(world, state);
  checkWords(world, state);
  for (const step of Object.values(state.steps)) checkFailure(world, state, step);
  checkPaidOnce(world, state);
  for (const plan of state.planned.plan.steps) checkPrompt(world, state, plan);
  checkProviders(world, state);
  checkSecondChoices(world, state);
  checkRewriting(world, state);
}

/** Checks that a later option was sent only if no earlier option had produced anything, unless a rerun was requested. */
function checkSecondChoices(world: SimWorld, state: RunState): void {
  if (world.reruns.size > 0) return;
  const jobsIn = (option: string) => {
    const steps = Object.values(state.steps).filter(({ path }) => path.startsWith(`${option}/`));
    return steps.flatMap(({ path, attempts }) =>
      attempts.flatMap(({ key, overdueAt }) => {
        return key === null ? [] : [{ path, key, isMade: isMade(world, key), isLate: overdueAt !== undefined }];
      }),
    );
  };
  for (const plan of state.planned.plan.steps) {
    if (plan.kind !== "pick" || plan.second === undefined) continue;
    for (const [at, option] of plan.second.options.slice(1).entries()) {
      if (jobsIn(option).length === 0) continue;
      // What was not there in time gave way to the next one, as its author wanted.
      const earlier = plan.second.options.slice(0, at + 1).map(jobsIn);
      const made = earlier.filter((jobs) => !jobs.some(({ isLate }) => isLate)).flat();
      for (const { path, key, isMade } of made) {
        if (!isMade || world.givenUp.has(key) || (plan.second.rewrites === true && isDenied(world, key))) continue;
        if (path !== "look/1/mood") world.fail(`${path} was made, and ${option} was begun`);
      }
    }
  }
}

/** Checks that a prompt was rewritten at most once, and only if moderation flagged it. */
function checkRewriting(world: SimWorld, state: RunState): void {
  for (const plan of state.planned.plan.steps) {
    if (plan.kind !== "pick" || plan.second?.rewrites !== true || world.reruns.size > 0) continue;
    // Of a changed plan the first prompt is out, where its price was refused.
    if (plan.second.options.length < 2) continue;
    const [first, again] = plan.among.map(({ $ref }) => state.steps[$ref.step]!) as [StepState, StepState];
    const { attempts } = state.steps[`${plan.second.options[1]}/prompt`]!;
    const sent = attempts.filter(({ phase, costMicros }) => phase !== "failed" || costMicros !== 0);
    if (sent.length > 1) world.fail(`${plan.path} had its prompt rewritten ${sent.length} times`);
    const isFlagged = `${first.reason} ${lastAttempt(first)?.error?.code}`.includes("MODERATION_FAILED");
    if (sent.length > 0 && !isFlagged) world.fail(`${plan.path} had its prompt rewritten: ${first.reason}`);
    if (again.attempts.some(({ key }) => key !== null) && sent.length === 0)
      world.fail(`${again.path} was sent with no prompt of its own`);
  }
}

/** True if the provider denied a work that it made. */
function isDenied({ elsewhere }: SimWorld, key: string): boolean {
  const work = elsewhere.madeOf(key);
  return work !== null && elsewhere.denied.has(work.id);
}

/** True if a paid result was made under a key. */
function isMade({ service, elsewhere }: SimWorld, key: string): boolean {
  const work = elsewhere.madeOf(key);
  if (work !== null) return true;
  return (service.jobOfKey(key)?.failure ?? true) === null;
}

function checkCollected(world: SimWorld, step: StepState, attempt: AttemptState): void {
  const job = world.service.jobs.get(attempt.jobId!)!;
  const netMicros = world.service.netMicros(job);
  if (attempt.costMicros !== netMicros && !world.misbilled.has(job.jobId))
    world.fail(`${step.path}: cost ${attempt.costMicros}, on the service ${netMicros}`);
  if (job.failure !== null) return;
  const isGone = world.isGone(job);
  for (let index = 0; index < job.outputs; index++) {
    const output: OutputState | undefined = attempt.outputs[index];
    const hash = output?.copy?.sha256;
    if (hash === undefined && isGone) continue;
    const wanted = PaidService.hashOf(job.jobId, index);
    if (hash !== wanted)
      world.fail(`${step.path}: output ${index} of ${job.jobId} is ${output?.phase}, its copy ${hash}`);
  }
}

/** Checks that the last decision that was accepted while no process drove the run is effective. */
function checkWords(world: SimWorld, state: RunState): void {
  for (const [path, { approved }] of world.words) {
    const said = state.steps[path]!.approval?.approved ?? approved;
    if (said !== approved) world.fail(`${path} is ${said ? "approved" : "rejected"}, which is not the last word`);
  }
}

/** Checks that the journal's spending covers the actual cost of its jobs. */
function checkSpent(world: SimWorld, state: RunState): void {
  const known = new Set(Object.values(state.steps).flatMap(({ attempts }) => attempts.map(({ jobId }) => jobId)));
  const jobs = [...world.service.jobs.values()].filter(({ jobId }) => known.has(jobId));
  const micros = jobs.reduce((sum, job) => sum + world.service.netMicros(job), 0);
  if (micros > state.spentMicros) world.fail(`${micros} charged, and the journal says ${state.spentMicros}`);
}

/** Checks that a step failed for good only because of the service or a person. */
function checkFailure(world: SimWorld, state: RunState, step: StepState): void {
  const plan = state.planned.plan.steps.find(({ path }) => path === step.path);
  if (step.status !== "failed" || plan?.kind !== "job") return;
  const attempt = lastAttempt(step);
  const unjust = (why: string) => world.fail(`${step.path} failed for good (${step.reason}), although ${why}`);
  switch (attempt?.phase) {
    case "refused":
      if (!world.troubles.refusedKeys.has(attempt.key!) && world.troubles.refusedUploads === 0)
        unjust("the service never refused it");
      return;
    case "failed":
      if (world.service.jobs.get(attempt.jobId!)?.failure == null) unjust("its job did not fail");
      return;
    case "lost":
      if (!world.givenUp.has(attempt.key!)) unjust("nobody gave it up");
      return;
    default:
      // Its job failed at no cost once another option had been begun in its place.
      if (step.reason?.startsWith("not needed: ") && attempt?.n !== 1) return;
      if (world.troubles.refusals === 0 && !someGone(world)) unjust("the service refused nothing");
  }
}

/** Checks that a step's result was made from the prompt in its plan, however often the prompt was edited. */
function checkPrompt(world: SimWorld, state: RunState, plan: PlanStep): void {
  const step = state.steps[plan.path]!;
  const wanted = "input" in plan ? promptOf(plan.input) : undefined;
  const sent = promptOf(lastAttempt(step)?.input);
  if (step.status !== "succeeded" || typeof wanted !== "string" || sent === undefined || sent === wanted) return;
  world.fail(`${plan.path} has what "${sent}" made, and its plan says "${wanted}"`);
}

/** Checks that a step was paid for once, and once more for each requested rerun and each result that a person gave up. */
function checkPaidOnce(world: SimWorld, state: RunState): void {
  for (const { path, attempts } of Object.values(state.steps)) {
    const plan = state.planned.plan.steps.find((one) => one.path === path);
    const tries = plan?.kind === "job" ? plan.policy.attempts : 1;
    const keys = attempts.flatMap(({ key }) => key ?? []);
    const paid = keys.filter((key) => (world.service.jobOfKey(key)?.failure ?? true) === null).length;
    const given = keys.filter((key) => world.givenUp.has(key)).length;
    const most = tries + world.reruns.size + given;
    if (paid > most) world.fail(`${path} was paid for ${paid} times, wanted ${most} times`);
  }
}

function someGone(world: SimWorld): boolean {
  return [...world.service.jobs.values()].some((job) => world.isGone(job));
}
