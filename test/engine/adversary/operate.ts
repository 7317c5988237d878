import type { ResumeOptions, Showrunner } from "../../../src/index.ts";
import { lastAttempt } from "../../../src/journal/state.ts";
import { checkThrown } from "./promises.ts";
import { SimProcess } from "./sim-process.ts";
import { RUN, SECRET, type SimWorld } from "./sim-world.ts";

/** What the commands act on. The model remembers nothing: the world knows better. */
export interface Real {
  readonly world: SimWorld;
  driver: SimProcess | null;
  /** Processes that drove the run and stand still. */
  frozen: SimProcess[];
}

interface Drive {
  readonly secret?: string;
  /** Boundaries until the process dies; null: it does not. */
  readonly dieIn?: number | null;
  /** Boundaries until others may act again; null: when the run rests. */
  readonly pauseIn?: number | null;
  readonly options?: ResumeOptions;
}

/** A command of somebody who drives nothing, in a process of its own; what it threw, or null. */
export async function tell(world: SimWorld, work: (show: Showrunner) => Promise<unknown>): Promise<unknown> {
  const thrown = await new SimProcess(world).perform(work);
  checkThrown(world, thrown);
  return thrown;
}

/** Goes on with the process that drives the run, or begins one. */
export async function drive(real: Real, how: Drive = {}): Promise<void> {
  const { world } = real;
  const { secret = SECRET, options = {}, dieIn = null, pauseIn = null } = how;
  if (!isDriven(real)) {
    world.note(() => `resume ${JSON.stringify(options)}${secret === SECRET ? "" : " with the wrong secret"}`);
    real.driver = new SimProcess(world, { secret });
    real.driver.resume(options, world.isNextInSlices());
  }
  if (dieIn !== null) real.driver!.dieIn(dieIn);
  await liveOn(world, real.driver!, pauseIn ?? undefined);
}

async function liveOn(world: SimWorld, driver: SimProcess, boundaries?: number): Promise<void> {
  await driver.live(boundaries);
  if (driver.ended === null) return;
  driver.kill();
  if (driver.ended.kind === "error") return checkThrown(world, driver.ended.error);
  const { status, pause } = driver.ended.result;
  world.note(() => `rests: ${status}${pause === null ? "" : ` (${pause.reason}: ${pause.message})`}`);
}

export function freeze(real: Real): void {
  if (!isDriven(real)) return;
  real.driver!.freeze();
  real.frozen.push(real.driver!);
  real.driver = null;
}

/** Whoever stood still goes on with what it was at, whatever others did meanwhile. */
export async function thaw(real: Real): Promise<void> {
  for (const process of real.frozen.splice(0)) {
    real.world.note(() => "a frozen process wakes");
    process.thaw();
    await liveOn(real.world, process);
  }
}

export function isDriven({ driver }: Real): boolean {
  return driver?.alive === true && driver.ended === null;
}

/** The command with which a finished step is wanted again; the same `request` is the same wish. */
export async function rerun(real: Real, step: number, request: number, dieIn: number | null): Promise<void> {
  const { world } = real;
  const { paidSteps } = world.options.plan;
  const requestId = `request-${request}`;
  const steps = world.reruns.get(requestId) ?? [paidSteps[step % paidSteps.length]!];
  world.reruns.set(requestId, steps);
  if (isDriven(real)) await drive(real);
  await drive(real, { dieIn, options: { rerun: steps, requestId } });
}

export async function decideAll(world: SimWorld, approves: boolean): Promise<void> {
  for (const step of world.options.plan.approvals) {
    if ((await world.state()).steps[step]?.status !== "running") continue;
    const options = step === "lead" ? { pick: 0 } : {};
    await tell(world, (show) => (approves ? show.approve(RUN, step, options) : show.reject(RUN, step)));
  }
}

/** Says what became of the unresolved steps: the truth, or that nothing was made. `isCalm`: nothing may go wrong. */
export async function adoptAll(world: SimWorld, how: { readonly isTrue: boolean; readonly isCalm: boolean }) {
  for (const step of Object.values((await world.state()).steps)) {
    if (step.status !== "unresolved") continue;
    const { path } = step;
    const { key, jobId: known } = lastAttempt(step)!;
    const made = key === null ? null : world.service.jobOfKey(key);
    const jobId = how.isTrue ? (known ?? made?.jobId ?? null) : null;
    let listed: readonly string[] = [];
    const looking = await tell(world, async (show) => {
      listed = (await show.candidates(RUN, path)).map((job) => job.jobId);
    });
    if (looking === null && made !== null && !listed.includes(made.jobId)) {
      world.fail(`${made.jobId} is not among the jobs that ${path} may have made: ${JSON.stringify(listed)}`);
    }
    if (jobId === null && key !== null) world.givenUp.add(key);
    const adopting = await tell(world, (show) => show.adopt(RUN, path, jobId));
    if (how.isCalm && adopting !== null) world.fail(`adopt ${path} ${jobId} is refused: ${String(adopting)}`);
  }
}

export function raiseBudget(world: SimWorld, micros: number | null): ResumeOptions {
  if (micros === null || world.budgetMicros === null) return {};
  world.budgetMicros = Math.max(world.budgetMicros, micros);
  return { budget: (world.budgetMicros / 1_000_000).toFixed(6) };
}
