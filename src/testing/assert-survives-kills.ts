import { AssertionError } from "node:assert";
import { createHash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import type { ServiceStats } from "showrunner-local";
import { traitsOf } from "../core/plan/index.ts";
import { isRunFinal, loadRun, type RunState } from "../core/view/index.ts";
import { createMemoryJournal, type JournalStore, type Pipeline, type RunOptions, type RunResult } from "../index.ts";
import { attemptsOf, chargedElsewhere } from "./assert-run.ts";
import { CrashInjector } from "./crash-injector.ts";
import { approveAll, type Decide, decideWaiting, openProcess } from "./process.ts";
import { type StudioOptions, startTestService, type TestService } from "./surroundings.ts";

/** Options for `assertSurvivesKills`. */
export interface KillOptions extends Pick<RunOptions, "budget" | "concurrency" | "maxUnquoted" | "profile"> {
  /** Makes the decisions that the run needs from a person. Default: approves, and picks the first option. */
  readonly decide?: Decide | undefined;
  /** Kills only at every n-th boundary. Journal commits and requests are boundaries. Default 1. */
  readonly every?: number | undefined;
  /** Kills only at the boundary with this number, as given in a failure message. The first boundary is 1. */
  readonly at?: number | undefined;
}

/** The result of `assertSurvivesKills`. */
export interface KillReport {
  /** Number of boundaries (journal commits and requests) that were tested. One run was killed at each. */
  readonly boundaries: number;
  /** Final status, the same for all runs. */
  readonly status: RunResult["status"];
  /** Number of paid jobs in each run, not counting chats. */
  readonly jobs: number;
  readonly files: number;
  /**
   * Number of chat requests that were resent after kills, in all runs together. A resent request may be charged twice,
   * because chats have no idempotency key.
   */
  readonly repeatedChats: number;
}

export interface Subject {
  readonly pipeline: Pipeline;
  readonly input: unknown;
}

const RUN_ID = "killed";
const NEVER = Number.POSITIVE_INFINITY;
const MOST_PROCESSES = 100;
/** Number of runs after which a new service replaces the current one, because a service slows down with every run. */
const RUNS_OF_A_SERVICE = 200;

export async function assertSurvivesKills(
  studio: StudioOptions,
  subject: Subject,
  { every = 1, at, ...options }: KillOptions = {},
): Promise<KillReport> {
  for (const [name, value] of Object.entries({ every, at })) {
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 1))
      throw new TypeError(`${name} must be a whole number of at least 1; got ${inspect(value)}.`);
  }
  await using services = new ServiceSource(studio);
  const live = async (dieAt: number) => lifeWithDeathAt(dieAt, await services.next(), subject, options);
  const calm = await live(NEVER);
  refuseOther(
    calm.life,
    (await live(NEVER)).life,
    "The pipeline's results differ from run to run, even when no process is killed",
  );
  let [boundaries, repeatedChats] = [0, 0];
  // Before the run is in the journal, no request costs money or changes anything.
  const first = calm.injector.points.indexOf("createRun: before") + 1;
  for (let point = at ?? first; ; point += every) {
    const { life, injector, asked } = await live(point);
    if (!injector.isDead) break;
    boundaries++;
    const boundary = `boundary ${point} (${injector.points[point - 1]})`;
    refuseAskedOnce(asked, `Killed at ${boundary}`);
    repeatedChats += life.chats - calm.life.chats;
    refuseOther(calm.life, life, `The run that was killed at ${boundary} ended differently from the uninterrupted run`);
    if (at !== undefined) break;
  }
  if (boundaries === 0)
    throw new TypeError(`Boundary ${at} does not exist: the run has only ${calm.injector.count} boundaries.`);
  const { status, jobs, files } = calm.life.same;
  return { boundaries, status, jobs, files: files.length, repeatedChats };
}

function refuseAskedOnce(asked: readonly string[], when: string): void {
  if (asked.length === 0) return;
  const [what, verb] = asked.length === 1 ? ["step", "sends"] : ["steps", "send"];
  throw new AssertionError({
    message: `${when}: ${what} ${asked.join(", ")} ${verb} a paid request that cannot be looked up at the provider or repeated safely, so after a kill, a person must check what happened. Use steps that can be repeated, or choose other boundaries with { every } or { at }.`,
    actual: "unresolved",
    expected: "succeeded",
  });
}

function refuseOther(calm: Life, life: Life, what: string): void {
  const found = differences(calm, life);
  if (found.length === 0) return;
  throw new AssertionError({
    message: `${what}:\n${found.map((difference) => `- ${difference}`).join("\n")}`,
    actual: life.same,
    expected: calm.same,
  });
}

async function lifeWithDeathAt(
  point: number,
  service: TestService,
  { pipeline, input }: Subject,
  { decide = approveAll, ...options }: KillOptions,
): Promise<{ readonly life: Life; readonly injector: CrashInjector; readonly asked: readonly string[] }> {
  const folder = join(service.folder, "run");
  const journal = createMemoryJournal({ now: () => service.clock.now() });
  const before = service.service.stats();
  const injector = new CrashInjector(point);
  const outDir = join(folder, "out");
  const drive = async (now: CrashInjector): Promise<RunResult | null> => {
    const rerunFailed = await isRewritingLost(journal);
    const show = await openProcess(service, { journal, folder }, now);
    const isKnown = (await journal.run(RUN_ID)) !== null;
    const work = async () => {
      const handle = await (isKnown
        ? show.resume(RUN_ID, { pipeline, rerunFailed })
        : show.run(pipeline, input, { ...options, id: RUN_ID, outDir }));
      return handle.result();
    };
    const ended = await Promise.race([work(), now.died.then(() => null)]);
    if (ended === null) await now.requestsSettled();
    else if (ended.pause?.reason === "approval") await decideWaiting(show, journal, ended, decide);
    return ended;
  };
  try {
    const result = await untilEnd(drive, injector, () => isRewritingLost(journal));
    const state = await loadRun(journal, RUN_ID);
    const life = await lifeOf({ result, outDir, state }, before, service.service.stats());
    const asked = state.planned.plan.steps.filter(
      (step) => traitsOf(step).provider !== null && state.steps[step.path]!.attempts.at(-1)?.phase === "unresolved",
    );
    return { life, injector, asked: asked.map(({ path }) => path) };
  } finally {
    await journal.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Returns whether the request for a rewritten prompt was lost because the process was killed. Showrunner never resends
 * such a request.
 */
async function isRewritingLost(journal: JournalStore): Promise<boolean> {
  const state = (await journal.run(RUN_ID)) === null ? null : await loadRun(journal, RUN_ID);
  if (state === null || !isRunFinal(state.status)) return false;
  return state.planned.plan.steps.some((step) => {
    const { status, attempts } = state.steps[step.path]!;
    return step.kind === "chat" && step.once === true && status === "failed" && attempts.at(-1)?.phase === "abandoned";
  });
}

async function untilEnd(
  drive: (now: CrashInjector) => Promise<RunResult | null>,
  first: CrashInjector,
  isOwed: () => Promise<boolean>,
): Promise<RunResult> {
  let injector = first;
  for (let processes = 0; processes < MOST_PROCESSES; processes++) {
    const result = await drive(injector);
    if (result === null) injector = new CrashInjector(NEVER);
    // Resuming the run in the next process permits it to repeat an unanswered chat.
    else if (result.pause?.reason === "approval" || result.pause?.reason === "unanswered") continue;
    else if (!(await isOwed())) return result;
  }
  throw new AssertionError({ message: `The run was still unfinished after ${MOST_PROCESSES} processes.` });
}

class ServiceSource implements AsyncDisposable {
  readonly #options: StudioOptions;
  #current: TestService | null = null;
  #uses = 0;

  constructor(options: StudioOptions) {
    this.#options = options;
  }

  async next(): Promise<TestService> {
    if (this.#current === null || ++this.#uses % RUNS_OF_A_SERVICE === 0) {
      await this[Symbol.asyncDispose]();
      this.#current = await startTestService(this.#options);
    }
    this.#current.service.faults(this.#options.faults ?? []);
    return this.#current;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#current?.[Symbol.asyncDispose]();
    this.#current = null;
  }
}

/** What a run did. A run that was killed must have the same values in `same` as a run that was not. */
interface Life {
  readonly same: {
    readonly status: RunResult["status"];
    readonly steps: readonly string[];
    readonly jobs: number;
    /** Micro-dollars spent, not counting chats. */
    readonly chargedMicros: number;
    readonly heldMicros: number;
    readonly files: readonly string[];
    readonly named: readonly string[];
    readonly outputs: string;
  };
  readonly chats: number;
  /**
   * Micro-dollars that the wallet paid, but that the run neither recorded nor reserved. Negative if the run recorded
   * more.
   */
  readonly unknownMicros: number;
}

interface Ended {
  readonly result: RunResult;
  readonly outDir: string;
  readonly state: RunState;
}

async function lifeOf({ result, outDir, state }: Ended, before: ServiceStats, after: ServiceStats): Promise<Life> {
  const { status, report, outputs } = result;
  const chatModels = new Set(
    report.steps.flatMap(({ kind, model }) => (kind === "chat" && model !== null ? [model] : [])),
  );
  const made = (stats: ServiceStats) => stats.jobs_created - chatsOf(stats);
  const chatsOf = ({ jobs_by_model: jobs }: ServiceStats) =>
    [...chatModels].reduce((sum, model) => sum + (jobs[model] ?? 0), 0);
  const net = (stats: ServiceStats) => stats.charged_micros - stats.refunded_micros;
  const chats = attemptsOf(state).filter(({ kind }) => kind === "chat");
  const chatMicros = chats.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0);
  const fileNames = report.steps.flatMap(({ outputs: all }) => all.flatMap(({ file }) => file ?? []));
  const unknown = net(after) - net(before) - (state.spentMicros - chargedElsewhere(state));
  return {
    same: {
      status,
      steps: report.steps.map((step) => `${step.path} ${step.status} ${JSON.stringify(step.value)}`),
      jobs: made(after) - made(before),
      chargedMicros: state.spentMicros - chatMicros,
      heldMicros: state.heldMicros,
      files: report.steps
        .flatMap(({ path, outputs: all }) => all.map(({ index, sha256 }) => `${path} ${index} ${sha256}`))
        .sort(),
      named: await namedFiles(fileNames, outDir),
      outputs: JSON.stringify(outputs, (key, value) => (VARYING.has(key) ? undefined : value)),
    },
    chats: chatsOf(after) - chatsOf(before),
    unknownMicros: unknown < 0 ? unknown : Math.max(0, unknown - state.unconfirmedMicros),
  };
}

/** Output fields that are not compared, because their values depend on the service or the folder. */
const VARYING: ReadonlySet<string> = new Set(["path", "assetId", "voiceId"]);

async function namedFiles(names: readonly string[], outDir: string): Promise<readonly string[]> {
  const hashes = names.map(async (name) => {
    const bytes = await readFile(join(outDir, name)).catch(() => null);
    return `${name} ${bytes === null ? "is missing" : createHash("sha256").update(bytes).digest("hex")}`;
  });
  return (await Promise.all(hashes)).sort();
}

const LISTED = 10;

function differences(calm: Life, life: Life): readonly string[] {
  const found = (Object.keys(calm.same) as (keyof Life["same"])[]).flatMap((name) => {
    const [was, is] = [calm.same[name], life.same[name]];
    if (JSON.stringify(was) === JSON.stringify(is)) return [];
    if (!Array.isArray(was) || !Array.isArray(is)) return [`${name}: ${short(was)} → ${short(is)}`];
    const lines = [
      ...was.filter((line) => !is.includes(line)).map((line) => `${name}: without ${short(line)}`),
      ...is.filter((line) => !was.includes(line)).map((line) => `${name}: with ${short(line)}`),
    ];
    return lines.length === 0 ? [`${name}: only the order or the number of items differs`] : lines.slice(0, LISTED);
  });
  if (life.chats < calm.chats) found.push(`chats: ${calm.chats} → ${life.chats}`);
  if (life.chats > calm.chats + 1)
    found.push(`chats: ${calm.chats} → ${life.chats}, but a kill should repeat at most one chat`);
  if (life.unknownMicros !== 0)
    found.push(`the wallet was charged ${life.unknownMicros} micro-dollars that the run did not record`);
  return found;
}

function short(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
