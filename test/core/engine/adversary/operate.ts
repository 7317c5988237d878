import { lastAttempt, outputsOf, planStep } from "../../../../src/core/journal/state.ts";
import { traitsOf } from "../../../../src/core/plan/index.ts";
import { offered } from "../../../../src/core/run/kinds/approve.ts";
import type { ResumeOptions, Showrunner } from "../../../../src/index.ts";
import { promptOf } from "./plans.ts";
import { checkThrown } from "./promises.ts";
import { givenFileOf } from "./provider-world.ts";
import { SimProcess } from "./sim-process.ts";
import { RUN, SECRET, type SimWorld } from "./sim-world.ts";
import { checkViews } from "./views.ts";

/** The state on which commands act. The model of fast-check is empty, because the world contains everything. */
export interface Real {
  readonly world: SimWorld;
  driver: SimProcess | null;
  /** Frozen processes that drove the run. */
  frozen: SimProcess[];
}

interface Drive {
  readonly secret?: string;
  /** Number of boundaries until the process dies; null if it does not die. */
  readonly dieIn?: number | null;
  /** Number of boundaries until other processes may act; null to wait until the run rests. */
  readonly pauseIn?: number | null;
  /** Number of submits that the process sends before it dies with an unsent submit. */
  readonly dieUnsent?: number;
  readonly options?: ResumeOptions;
}

/** Executes a command in a separate process that does not drive the run. Returns the thrown error, or null. */
export async function tell(world: SimWorld, work: (show: Showrunner) => Promise<unknown>): Promise<unknown> {
  const thrown = await new SimProcess(world).perform(work);
  checkThrown(world, thrown);
  return thrown;
}

/** Continues with the process that drives the run, or starts such a process. */
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

/** Lets frozen processes continue, whatever other processes have done in the meantime. */
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

/** Requests a rerun of a step; the same `request` repeats the same request. */
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

/** Lets a process die with an unsent request, and then edits the prompt of this request. */
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

/** Changes a step's prompt, or renames a job in the code, and accepts the change. */
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
  if (edited !== null && real.frozen.length === 0) {
    // A prompt that the step already has ends a change that was asked for earlier, and refused.
    if (await isOtherPrompt(world, edited, words)) world.beginsToChange(edited);
    else if (world.changing?.step === edited) world.changing = null;
  }
  await drive(real, { dieIn, pauseIn, options: { pipeline, acceptChanges: true, ...edit } });
}

/** False if an earlier edit gave the step the same prompt. The edit then changes nothing, and an open request may be sent. */
async function isOtherPrompt(world: SimWorld, path: string, words: string): Promise<boolean> {
  const plan = (await world.state()).planned.plan.steps.find((step) => step.path === path);
  return plan === undefined || !("input" in plan) || promptOf(plan.input) !== words;
}

export type Decision = "approve" | "pick 0" | "pick 1" | "reject";

export async function decideAll(real: Real, approves: boolean): Promise<void> {
  const { world } = real;
  for (const step of world.options.plan.approvals) {
    if ((await world.state()).steps[step]?.status !== "running") continue;
    await say(real, step, approves ? "pick 0" : "reject");
  }
}

/** Decides all approvals, including those that were already decided or used for a purchase. */
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

/** The asset that an approval offers as the candidate `pick`; null if there is none. */
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
 * Resolves the unresolved steps: with the truth, or with the statement that nothing was made. `isCalm`: no command may fail. Returns
 * the keys of the jobs that were adopted.
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

/** Adopts what a person finds in the account at a provider: the file, or nothing. */
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
