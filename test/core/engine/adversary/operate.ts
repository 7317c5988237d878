import { lastAttempt, outputsOf, planStep } from "../../../../src/core/journal/state.ts";
import { traitsOf } from "../../../../src/core/plan/index.ts";
import { offered } from "../../../../src/core/run/kinds/approve.ts";
import type { ResumeOptions, Showrunner } from "../../../../src/index.ts";
import { checkThrown } from "./promises.ts";
import { givenFileOf } from "./provider-world.ts";
import { SimProcess } from "./sim-process.ts";
import { RUN, SECRET, type SimWorld } from "./sim-world.ts";
import { checkViews } from "./views.ts";

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
  /** Submits until the process dies with one that it has not sent. */
  readonly dieUnsent?: number;
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
    if (options.edit === undefined) world.changing = null;
    world.note(() => `resume ${JSON.stringify(options)}${secret === SECRET ? "" : " with the wrong secret"}`);
    real.driver = new SimProcess(world, { secret });
    real.driver.resume(options, world.isNextInSlices());
  }
  if (dieIn !== null) real.driver!.dieIn(dieIn);
  if (how.dieUnsent !== undefined) real.driver!.dieBeforeSubmit(how.dieUnsent);
  await liveOn(world, real.driver!, pauseIn ?? undefined);
}

async function liveOn(world: SimWorld, driver: SimProcess, boundaries?: number): Promise<void> {
  await driver.live(boundaries);
  if (driver.ended === null) return;
  driver.kill();
  if (driver.ended.kind === "error") return checkThrown(world, driver.ended.error);
  const { status, pause } = driver.ended.result;
  await checkViews(world, driver.ended.result.report);
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
  real.world.changing = null;
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
  world.words.clear();
  if (isDriven(real)) await drive(real);
  await drive(real, { dieIn, options: { rerun: steps, requestId } });
}

/** A process dies with a request that it has not sent, and the prompt of that is edited. */
export async function changeUnsent(real: Real, how: { readonly skip: number; readonly words: string }): Promise<void> {
  const { world } = real;
  const { prompted } = world.options.plan;
  await drive(real, { dieUnsent: how.skip });
  const { steps } = await world.state();
  const step = prompted.findIndex((path) => {
    // A job may have another name by now.
    const known = steps[path];
    return known !== undefined && lastAttempt(known)?.phase.startsWith("submitting") === true;
  });
  if (step !== -1) await change(real, { step, words: how.words, dieIn: null, pauseIn: null });
}

/** A step's prompt becomes another one, or a job gets another name: a change of the code that is accepted. */
export async function change(
  real: Real,
  how: {
    readonly step: number | null;
    readonly words: string;
    readonly dieIn: number | null;
    readonly pauseIn: number | null;
  },
): Promise<void> {
  const { world } = real;
  const { prompted, code, renamed } = world.options.plan;
  const { step, words, dieIn, pauseIn } = how;
  const edited = step === null ? null : (prompted[step % prompted.length] ?? null);
  if (edited !== null) world.reruns.set(`edit ${world.reruns.size}`, [edited]);
  world.words.clear();
  if (isDriven(real)) await drive(real);
  const edit = edited === null ? {} : { edit: { [edited]: { prompt: words } }, everywhere: true };
  const pipeline = edited === null ? renamed : code;
  if (edited !== null && real.frozen.length === 0) world.beginsToChange(edited);
  await drive(real, { dieIn, pauseIn, options: { pipeline, acceptChanges: true, ...edit } });
}

export type Decision = "approve" | "pick 0" | "pick 1" | "reject";

export async function decideAll(real: Real, approves: boolean): Promise<void> {
  const { world } = real;
  for (const step of world.options.plan.approvals) {
    if ((await world.state()).steps[step]?.status !== "running") continue;
    await say(real, step, approves ? "pick 0" : "reject");
  }
}

/** A word at any time, on what was decided, bought or is over too. */
export async function decideAnew(real: Real, decision: Decision): Promise<void> {
  for (const step of real.world.options.plan.approvals) await say(real, step, decision);
}

async function say(real: Real, step: string, decision: Decision): Promise<void> {
  const { world } = real;
  const { decision: asks } = traitsOf(planStep(await world.state(), step));
  const pick = asks!.choose && decision.startsWith("pick") ? { pick: Number(decision.at(-1)) } : {};
  const approved = decision !== "reject";
  const chosen = "pick" in pick ? await candidate(world, step, pick.pick) : null;
  const thrown = await tell(world, (show) => (approved ? show.approve(RUN, step, pick) : show.reject(RUN, step)));
  if (thrown !== null) return;
  world.note(() => `taken: ${decision} for ${step}`);
  // What is said while somebody drives may come too late.
  if (isDriven(real) || real.frozen.length > 0) world.words.delete(step);
  else world.words.set(step, { approved, chosen });
}

/** The asset that a choice offers at a place. */
async function candidate(world: SimWorld, step: string, pick: number): Promise<string | null> {
  const state = await world.state();
  const { decision } = traitsOf(planStep(state, step));
  const chosen = offered(state, decision!)[pick];
  return chosen === undefined ? null : (outputsOf(state.steps[chosen.step]!)[chosen.index]?.assetId ?? null);
}

/** Sets the clock of the machine that drives the run. */
export function setClock({ world, driver }: Real, byMs: number): void {
  if (driver === null) return;
  world.note(() => `the clock is set by ${byMs} ms`);
  world.isClockSet = true;
  driver.setClock(byMs);
}

/**
 * Says what became of the unresolved steps: the truth, or that nothing was made. `isCalm`: nothing may go wrong. Returns the keys of
 * the jobs that were named and taken.
 */
export async function adoptAll(
  world: SimWorld,
  how: { readonly isTrue: boolean; readonly isCalm: boolean },
): Promise<readonly string[]> {
  const named: string[] = [];
  for (const step of Object.values((await world.state()).steps)) {
    if (step.status !== "unresolved") continue;
    const { path } = step;
    const { key, jobId: known, provider } = lastAttempt(step)!;
    if (provider !== undefined) {
      await adoptWork(world, path, key!, how);
      continue;
    }
    const made = key === null ? null : world.service.jobOfKey(key);
    // What was acknowledged may be somebody else's job; a chat has no key to find its own by.
    const jobId = how.isTrue ? (made?.jobId ?? known) : null;
    let listed: readonly string[] = [];
    const looking = await tell(world, async (show) => {
      const found = (await show.unresolved(RUN)).find((one) => one.step === path);
      // What was said of it already is shown beside the others.
      listed = [...(found?.candidates ?? []), ...(found?.decided ? [found.decided] : [])].map((job) => job.jobId ?? "");
    });
    if (looking === null && made !== null && !listed.includes(made.jobId)) {
      world.fail(`${made.jobId} is not among the jobs that ${path} may have made: ${JSON.stringify(listed)}`);
    }
    if (jobId === null && key !== null) world.givenUp.add(key);
    const adopting = await tell(world, (show) => show.adopt(RUN, path, jobId));
    if (how.isCalm && adopting !== null) world.fail(`adopt ${path} ${jobId} is refused: ${String(adopting)}`);
    if (adopting === null && made !== null && jobId === made.jobId) named.push(key!);
  }
  return named;
}

/** What a person finds in the account at a provider: the file that was made, or nothing. */
async function adoptWork(
  world: SimWorld,
  path: string,
  key: string,
  { isTrue, isCalm }: { readonly isTrue: boolean; readonly isCalm: boolean },
): Promise<void> {
  const work = isTrue ? world.elsewhere.madeOf(key) : null;
  if (work === null) world.givenUp.add(key);
  else world.time.now = Math.max(world.time.now, work.doneAt);
  const file = work === null ? null : givenFileOf(work);
  const adopting = await tell(world, (show) => show.adopt(RUN, path, file));
  if (isCalm && adopting !== null) world.fail(`adopt ${path} ${file} is refused: ${String(adopting)}`);
}

export function raiseBudget(world: SimWorld, micros: number | null): ResumeOptions {
  if (micros === null || world.budgetMicros === null) return {};
  world.budgetMicros = Math.max(world.budgetMicros, micros);
  return { budget: (world.budgetMicros / 1_000_000).toFixed(6) };
}
