import fc from "fast-check";
import type { StoredEvent } from "../../../../src/core/journal/events.ts";
import { OverBudgetError, type ResumeOptions, type RunDocument } from "../../../../src/index.ts";
import { type Command, commandsElsewhere, commandsHere } from "./commands.ts";
import { adoptAll, decideAll, drive, isDriven, type Real, raiseBudget, thaw } from "./operate.ts";
import type { SimPlan } from "./plans.ts";
import { checkEnd } from "./promises.ts";
import { RUN, SimWorld, type WorldOptions } from "./sim-world.ts";

/** Maximum number of times that a person follows the run's instructions before the run must end. */
const MOST_ROUNDS = 25;
const HOUR_MS = 3_600_000;

/** Generates the world of a run, and the commands that are executed in it. */
export function livesOf(plans: readonly SimPlan[]): fc.Arbitrary<[WorldOptions, Command[]]> {
  const elsewhere = plans.filter(({ pipeline }) => pipeline !== null);
  const here = plans.filter(({ pipeline }) => pipeline === null);
  return fc.oneof(livesIn(here, commandsHere), livesIn(elsewhere, commandsElsewhere));
}

function livesIn(plans: readonly SimPlan[], commands: fc.Arbitrary<Command>): fc.Arbitrary<[WorldOptions, Command[]]> {
  const worlds: fc.Arbitrary<WorldOptions> = fc.record({
    plan: fc.constantFrom(...plans),
    concurrency: fc.integer({ min: 1, max: 4 }),
    budgetMicros: fc.constantFrom(null, null, null, 100_000, 300_000),
    capMicros: fc.constantFrom(null, null, null, 100_000, 300_000),
    floorMicros: fc.constantFrom(null, null, null, null, 50_000),
    billsLateMs: fc.constantFrom(0, 0, 0, 90_000, 900_000),
    slowMs: fc.constantFrom(0, 300_000, 900_000, 5 * HOUR_MS, Number.POSITIVE_INFINITY),
    balanceMicros: fc.constantFrom(1_000_000_000, 1_000_000_000, 150_000),
    clocksMs: fc.constantFrom([], [], [0, 300_000], [-420_000, 300_000, 0], [90_000, -5_000], [26 * HOUR_MS, 0]),
    slices: fc.constantFrom("never" as const, "always" as const, "mixed" as const),
    flags: fc.constantFrom("nothing" as const, "refused" as const, "fails" as const),
    skewMs: fc.constantFrom(0, 0, 25 * 60_000, -25 * 60_000, 25 * HOUR_MS, -25 * HOUR_MS),
  });
  return fc.tuple(worlds, fc.array(commands, { minLength: 1, maxLength: 9, size: "max" }));
}

/** Executes commands on a run. Then the troubles end, and a person follows the run's instructions. */
export async function live(options: WorldOptions, commands: Iterable<Command>): Promise<SimWorld> {
  const world = new SimWorld(options);
  await world.start();
  const real: Real = { world, driver: null, frozen: [] };
  await fc.asyncModelRun(() => ({ model: {}, real }), commands);
  if (world.broken === null) await windUp(real);
  if (world.broken === null) await checkEnd(world);
  real.driver?.kill();
  world.close();
  return world;
}

async function windUp(real: Real): Promise<void> {
  const { world } = real;
  world.note(() => "the troubles are over");
  world.troubles.armed = [];
  world.service.nextCharges = [];
  world.service.nextFailures = [];
  world.providers.nextFates = [];
  world.service.endsAllAt = world.time.now + world.options.skewMs;
  if (isDriven(real)) await drive(real);
  await thaw(real);
  let options: ResumeOptions = {};
  const waits = new Map<string, number>();
  let isRerun = false;
  let asked = "";
  for (let round = 0; world.broken === null; round++) {
    if (round > MOST_ROUNDS) return world.fail("the run does not come to an end, whatever it says is done");
    const typedAt = (await world.state()).seq;
    await drive(real, { options });
    const ended = real.driver!.ended;
    if (ended?.kind === "error" && isRerun && isRefusal(ended.error)) {
      if (!(ended.error instanceof OverBudgetError)) return;
      options = { ...options, ...raiseBudget(world, ended.error.quoteMicros) };
      continue;
    }
    if (ended?.kind === "error") return world.fail(`resume throws ${String(ended.error)}`);
    if (ended?.kind !== "result") return;
    const { status, report } = ended.result;
    const asks = JSON.stringify([report.pause, report.missing, report.next]);
    if (asks === asked && !isFurther(await world.journal.read(RUN, { afterSeq: typedAt })))
      return world.fail("nothing came of what the screen said");
    asked = asks;
    // A second choice may wait for the bill of the first; each bill is there within the hour.
    const isBillAwaited = status !== "paused" || ended.result.pause?.reason === "unresolved";
    const late = report.missing.filter(({ what, step }) => what === "bill" && (waits.get(step) ?? 0) < 3);
    if (isBillAwaited && late.length > 0) {
      for (const { step } of late) waits.set(step, (waits.get(step) ?? 0) + 1);
      world.time.now += HOUR_MS;
      options = {};
      continue;
    }
    // What the run ended without is named, and asked for again by whoever resumes it.
    if (status === "succeeded" && report.steps.some(isLeft)) {
      if (report.next === null)
        return world.fail("a job is under way, and the screen does not say how it is collected");
      options = {};
      continue;
    }
    if (status === "succeeded" || report.next === null) return;
    if (status !== "paused" && isRerun) return;
    isRerun ||= status !== "paused";
    if (status !== "paused") world.reruns.set("at the end", []);

    options = await follow(real, report.next.command, ended.result.pause?.reason);
  }
}

/** True if the step's job was in progress when the run ended. */
function isLeft({ attempts }: RunDocument["steps"][number]): boolean {
  return attempts.some(({ status }) => status === "inQueue" || status === "inProgress");
}

/** True if the events contain progress, and not only a process that took the run and released it. */
function isFurther(events: readonly StoredEvent[]): boolean {
  return events.some(({ event: { type } }) => !/^(?:lease\.|run\.(?:resumed|paused|reopened)$)/.test(type));
}

/** True for a refusal before any work: the amount is over budget, or the step cannot be rerun. */
function isRefusal(error: unknown): boolean {
  return ["OVER_BUDGET", "INVALID_OPTION"].includes((error as { readonly code?: string }).code ?? "");
}

/** Executes the command that the screen suggests. Returns the options of the next resume. */
async function follow(real: Real, line: string, reason: string | undefined): Promise<ResumeOptions> {
  const { world } = real;
  world.note(() => `the screen says: ${line}`);
  const [, word] = line.split(" ");
  if (reason === "funds") world.service.balanceMicros += 1_000_000_000;
  const flags = new Map(
    [...line.matchAll(/--([a-z-]+)(?: (?!--)(\S+))?/g)].map(([, name, value]) => [name!, value ?? ""]),
  );
  const cap = flags.get("spending-cap");
  if (cap !== undefined) world.capMicros = Math.max(world.capMicros ?? 0, Math.round(Number(cap) * 1e6));
  const budget = flags.get("budget");
  if (budget !== undefined) world.budgetMicros = Math.round(Number(budget) * 1e6);
  if (word === "approve") await decideAll(real, true);
  if (word === "adopt") await adoptAll(world, { isTrue: true, isCalm: true });
  if (flags.has("rerun")) world.words.clear();
  return {
    ...(budget !== undefined && { budget }),
    ...(flags.has("max-unquoted") && { maxUnquoted: flags.get("max-unquoted") }),
    ...(flags.has("rerun-failed") && { rerunFailed: true }),
    ...(flags.has("rerun") && { rerun: [flags.get("rerun")!] }),
  };
}
