import { AssertionError } from "node:assert";
import { createHash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ServiceStats } from "showrunner-local";
import {
  createMemoryJournal,
  isRunFinal,
  type JournalStore,
  loadRun,
  type Pipeline,
  type RunOptions,
  type RunResult,
  type RunState,
} from "../internal.ts";
import { chargedElsewhere } from "./assert-paid-once.ts";
import { CrashInjector } from "./crash-injector.ts";
import type { StudioOptions } from "./options.ts";
import { approveAll, type Decide, decideWaiting, openProcess } from "./process.ts";
import { startTestService, type TestService } from "./surroundings.ts";

export interface KillOptions extends Pick<RunOptions, "budget" | "concurrency" | "maxUnquoted" | "profile"> {
  /** Decides what the run asks of a person. Default: yes, and the first of what is to be chosen from. */
  readonly decide?: Decide | undefined;
  /** Kills at every so many-th boundary only. Default: 1, at each. */
  readonly every?: number | undefined;
  /** Kills at this boundary only, counted from 1: the number that a failure names. */
  readonly at?: number | undefined;
}

export interface KillReport {
  /** Commits of the journal and requests at which an engine died; each was a run of its own. */
  readonly boundaries: number;
  /** What each run came to. */
  readonly status: RunResult["status"];
  /** Paid jobs of each run, chats not counted. */
  readonly jobs: number;
  readonly files: number;
  /** Chat requests that were repeated after a kill, over all runs: these have no idempotency key. */
  readonly repeatedChats: number;
}

/** What is run, each time anew. */
export interface Subject {
  readonly pipeline: Pipeline;
  readonly input: unknown;
}

const RUN_ID = "killed";
const NEVER = Number.POSITIVE_INFINITY;
/** Of one run, its decisions included; more would be a run that never ends. */
const MOST_PROCESSES = 100;
/** After so many runs the service is started anew: it would have to look through all of their jobs. */
const RUNS_OF_A_SERVICE = 200;

/** Kills the run at every boundary, and compares what each comes to with a run that was left alone. */
export async function assertSurvivesKills(
  studio: StudioOptions,
  subject: Subject,
  { every = 1, at, ...options }: KillOptions = {},
): Promise<KillReport> {
  await using services = new ServiceSource(studio);
  const live = async (dieAt: number) => lifeWithDeathAt(dieAt, await services.next(), subject, options);
  const calm = await live(NEVER);
  refuseOther(calm.life, (await live(NEVER)).life, "The pipeline does not come to the same twice, killed or not");
  let [boundaries, repeatedChats] = [0, 0];
  // Before the run is in the journal, nothing is requested that costs or lasts.
  const first = calm.injector.points.indexOf("createRun: before") + 1;
  for (let point = at ?? first; ; point += every) {
    const { life, injector, asked } = await live(point);
    if (!injector.isDead) break;
    boundaries++;
    refuseAskedOnce(asked, `Killed at boundary ${point}, ${injector.points[point - 1]}`);
    repeatedChats += life.chats - calm.life.chats;
    refuseOther(
      calm.life,
      life,
      `Killed at boundary ${point}, ${injector.points[point - 1]}, the run comes to something else`,
    );
    if (at !== undefined) break;
  }
  if (boundaries === 0) throw new TypeError(`There is no boundary ${at}: the run has ${calm.injector.count}.`);
  const { status, jobs, files } = calm.life.same;
  return { boundaries, status, jobs, files: files.length, repeatedChats };
}

/** What its provider cannot be asked for again is left to a person after a kill: the run comes to something else by design. */
function refuseAskedOnce(asked: readonly string[], when: string): void {
  if (asked.length === 0) return;
  const [what, verb] = asked.length === 1 ? ["step", "sends"] : ["steps", "send"];
  throw new AssertionError({
    message: `${when}: ${what} ${asked.join(", ")} ${verb} a paid request that its provider neither finds again nor takes twice, so that a kill leaves it to a person. Test the pipeline with a step that can be repeated in its place, or with { every } or { at } at other boundaries.`,
    actual: "unresolved",
    expected: "succeeded",
  });
}

function refuseOther(calm: Life, life: Life, what: string): void {
  const found = differences(calm, life);
  if (found.length === 0) return;
  throw new AssertionError({
    message: `${what}:\n${found.map((one) => `- ${one}`).join("\n")}`,
    actual: life.same,
    expected: calm.same,
  });
}

/** One whole life of a run whose first process dies at a boundary, counted from 1. */
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
      ({ kind, path }) => kind === "generate" && state.steps[path]!.attempts.at(-1)?.phase === "unresolved",
    );
    return { life, injector, asked: asked.map(({ path }) => path) };
  } finally {
    await journal.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Whether the run is over without a rewriting that is not asked for again by itself: its answer died with its process. */
async function isRewritingLost(journal: JournalStore): Promise<boolean> {
  const state = (await journal.run(RUN_ID)) === null ? null : await loadRun(journal, RUN_ID);
  if (state === null || !isRunFinal(state.status)) return false;
  return state.planned.plan.steps.some((step) => {
    const { status, chats } = state.steps[step.path]!;
    return step.kind === "chat" && step.once === true && status === "failed" && chats.at(-1)?.phase === "abandoned";
  });
}

/** Process after process until the run is through. Only the first dies. */
async function untilEnd(
  drive: (now: CrashInjector) => Promise<RunResult | null>,
  first: CrashInjector,
  isOwed: () => Promise<boolean>,
): Promise<RunResult> {
  let injector = first;
  for (let processes = 0; processes < MOST_PROCESSES; processes++) {
    const result = await drive(injector);
    if (result === null) injector = new CrashInjector(NEVER);
    // The next process is the person's word that a chat may be asked once more, or a prompt be rewritten again.
    else if (result.pause?.reason === "approval" || result.pause?.reason === "unanswered") continue;
    else if (!(await isOwed())) return result;
  }
  throw new AssertionError({ message: `The run has not ended after ${MOST_PROCESSES} processes.` });
}

/** A service for each run; the same one as long as it is quick. */
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

/** What a run came to, with all that must not depend on how often its engine died. */
interface Life {
  readonly same: {
    readonly status: RunResult["status"];
    /** Path, status and value. */
    readonly steps: readonly string[];
    readonly jobs: number;
    /** Charged for jobs, refunds taken off, micro-dollars. */
    readonly chargedMicros: number;
    readonly heldMicros: number;
    /** Of every step: path, position and hash. */
    readonly files: readonly string[];
    /** Named files: name and hash of the bytes on disk. */
    readonly named: readonly string[];
    /** What the pipeline returned, without paths and ids. */
    readonly outputs: string;
  };
  /** Chat requests that the service answered. */
  readonly chats: number;
  /** Charges that the run does not know of, beyond what it put aside for chats without an answer. */
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
  const chatMicros = Object.values(state.steps)
    .flatMap(({ chats }) => chats)
    .reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0);
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
      named: await namedFiles(
        report.steps.flatMap(({ outputs: all }) => all.flatMap(({ file }) => file ?? [])),
        outDir,
      ),
      outputs: JSON.stringify(outputs, (key, value) => (VARYING.has(key) ? undefined : value)),
    },
    chats: chatsOf(after) - chatsOf(before),
    unknownMicros: unknown < 0 ? unknown : Math.max(0, unknown - state.unconfirmedMicros),
  };
}

/** Named by the service or by the folder. */
const VARYING: ReadonlySet<string> = new Set(["path", "assetId", "voiceId"]);

async function namedFiles(names: readonly string[], outDir: string): Promise<readonly string[]> {
  const hashes = names.map(async (name) => {
    const bytes = await readFile(join(outDir, name)).catch(() => null);
    return `${name} ${bytes === null ? "is not there" : createHash("sha256").update(bytes).digest("hex")}`;
  });
  return (await Promise.all(hashes)).sort();
}

const LISTED = 10;

/** What is not as it was in the life without a death, for people; empty when nothing. */
function differences(calm: Life, life: Life): readonly string[] {
  const found = (Object.keys(calm.same) as (keyof Life["same"])[]).flatMap((name) => {
    const [was, is] = [calm.same[name], life.same[name]];
    if (JSON.stringify(was) === JSON.stringify(is)) return [];
    if (!Array.isArray(was) || !Array.isArray(is)) return [`${name}: ${short(was)} → ${short(is)}`];
    const lines = [
      ...was.filter((line) => !is.includes(line)).map((line) => `${name}: without ${short(line)}`),
      ...is.filter((line) => !was.includes(line)).map((line) => `${name}: with ${short(line)}`),
    ];
    return lines.length === 0 ? [`${name}: in another order or number`] : lines.slice(0, LISTED);
  });
  if (life.chats < calm.chats) found.push(`chats: ${calm.chats} → ${life.chats}`);
  // Only the one that was under way may have been asked again.
  if (life.chats > calm.chats + 1) found.push(`chats: ${calm.chats} → ${life.chats}, which is more than one again`);
  if (life.unknownMicros !== 0)
    found.push(`the wallet paid ${life.unknownMicros} micro-dollars that the run does not know of`);
  return found;
}

function short(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
