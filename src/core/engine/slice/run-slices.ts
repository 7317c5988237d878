import { randomUUID } from "node:crypto";
import type { Client } from "../../api/index.ts";
import { type Pipeline, redraft } from "../../define/index.ts";
import {
  AccountMismatchError,
  IllegalEventError,
  JournalNewerVersionError,
  RunUnknownError,
} from "../../journal/errors.ts";
import type { PauseReason, RunEvent, RunPlanned, StoredEvent } from "../../journal/events.ts";
import { thisHolder } from "../../journal/host.ts";
import { weightOf } from "../../journal/snapshot.ts";
import { isRunFinal, type RunState, type RunStatus } from "../../journal/state.ts";
import type { InboxEntry, RunRow } from "../../journal/store.ts";
import { traitsOf } from "../../plan/index.ts";
import { type Command, commandId } from "../../run/command.ts";
import { workOf } from "../../run/inbox.ts";
import { isAskedToGoOn, outdatedStops } from "../change/compare.ts";
import type { Start } from "../drive/begin-run.ts";
import { DriveMemory } from "../drive/drive-memory.ts";
import type { DriveDependencies, DriveTools } from "../drive/drive-tools.ts";
import { driveAsHolder, type HolderParts, handOver } from "../drive/leased-drive.ts";
import { FUNDS_EVERY_MS, isPauseOver } from "../drive/run-supervisor.ts";
import { RunTakenOverError } from "../drive/run-writer.ts";
import { type Code, codeOf, type StepFunctions } from "../effects/functions.ts";
import { perform } from "../effects/index.ts";
import { CodeElsewhereError, RunBusyError } from "../errors.ts";
import type { ResumeOptions } from "../options/options.ts";

const MOST_MS = 10_000;
/** A run that another process holds is tried again so soon, milliseconds. */
const BUSY_MS = 1_000;
/** A run that this process cannot drive is left to others for so long, milliseconds. */
const LEFT_MS = 5_000;
/** The rest of a slice whose steps of local code are performed elsewhere. */
const LOCAL: ReadonlySet<Command["type"]> = new Set(["task", "pick"]);

interface SlicesParts extends HolderParts {
  readonly client: Client;
}

/** Drives runs in slices: between two, a run is in the journal and nowhere else. */
export class RunSlices {
  readonly #parts: SlicesParts;
  readonly #cache = new StateCache();

  constructor(parts: SlicesParts) {
    const { dependencies } = parts;
    this.#parts = { ...parts, dependencies: (state, how) => leavingCode(dependencies(state, how), state) };
  }

  /**
   * Does all that is due for the run, then releases it. A run that is not due costs one read. Rejects only for what is
   * wrong outside of the run, such as a full disk.
   */
  async slice(runId: string, options: SliceOptions, resumed: Start | null): Promise<Slice> {
    const { store, clock } = this.#parts;
    const row = await store.run(runId);
    if (row === null) throw new RunUnknownError(runId);
    const inbox = await store.inbox(runId);
    if (resumed === null && inbox.length === 0 && options.anew !== true && !isDue(row, clock.now())) {
      const fundsAt = fundsLookedAt(row, options, clock.now());
      if (fundsAt === null || !(await this.#isFunded(row, options))) {
        return { status: row.status as RunStatus, wakeAt: row.wakeAt ?? fundsAt, message: null, driven: null };
      }
    }
    try {
      return await this.#drive(row, options, resumed ?? { unread: inbox });
    } catch (error) {
      const now = clock.now();
      if (error instanceof RunBusyError || error instanceof RunTakenOverError) {
        return { status: "busy", wakeAt: now + BUSY_MS, message: error.message, driven: null };
      }
      if (isForOthers(error)) return { status: "left", wakeAt: now + LEFT_MS, message: error.message, driven: null };
      throw error;
    }
  }

  /** Whether the wallet has what the paused run lacks. */
  async #isFunded(row: RunRow, { signal }: SliceOptions): Promise<boolean> {
    const { clock, client, repository } = this.#parts;
    const { pause } = this.#cache.peek(row)?.state ?? (await repository.load(row.runId));
    return pause?.reason === "funds" && isPauseOver(pause, { client, clock, signal });
  }

  /** Writes down the first prices of a run that was just created, and hands it to the engine. */
  hand(state: RunState, quoted: readonly RunEvent[]): Promise<void> {
    return handOver(this.#parts, state, quoted);
  }

  /** Performs local work of a run, and tells the run what came of it. Rejects where it has to be tried again. */
  async work({ runId, command, of }: LocalWork, options: Pick<SliceOptions, "findPipeline" | "signal"> = {}) {
    const { store, clock, repository } = this.#parts;
    const row = await store.run(runId);
    if (row === null) throw new RunUnknownError(runId);
    const remembered = this.#cache.peek(row) ?? { state: await repository.load(row.runId), code: null, tools: null };
    const { state } = remembered;
    const { step } = command;
    if (workOf(state, step) !== of) return;
    const how = await this.#start(remembered, options);
    const events: RunEvent[] = [];
    const result = await perform(command, {
      ...this.#parts.dependencies(state, how),
      state,
      signal: options.signal ?? new AbortController().signal,
      priority: 0,
      emit: (more) => events.push(...more),
      recorded: async () => {},
      progress: (progress) => void store.setProgress(runId, progress).catch(() => {}),
      reportOutage: () => 0,
    });
    events.push(...result.events);
    options.signal?.throwIfAborted();
    if (result.end === "failed") throw result.failure;
    if (result.end === "unreachable") throw new Error(result.serviceFailure.message);
    const message = { type: "performed", step, command: commandId(command), of, events } as const;
    await store.send(runId, message, clock.now());
  }

  async #drive(
    row: RunRow,
    options: SliceOptions,
    asked: Start | { readonly unread: readonly InboxEntry[] },
  ): Promise<Slice> {
    const { repository, clock } = this.#parts;
    const remembered = this.#cache.take(row) ?? { state: await repository.load(row.runId), code: null, tools: null };
    const { state } = remembered;
    const how = {
      ...(await this.#start(remembered, options)),
      ...("unread" in asked ? await this.#woken(state, asked.unread, options) : asked),
    };
    if (how.move === undefined) repository.checkAccount(state);
    const end = new AbortController();
    const onEnd = () => end.abort();
    options.signal?.addEventListener("abort", onEnd);
    if (options.signal?.aborted === true) onEnd();
    const timer = clock.setTimer(options.maxMs ?? MOST_MS, onEnd);
    try {
      const { wakeAt, tools } = await driveAsHolder(this.#parts, {
        state,
        how,
        stop: new AbortController().signal,
        tools: remembered.tools,
        updates: { push: (events) => options.onEvents?.(events), progress: () => {} },
        slice: (memo, resumption) => {
          const memory = DriveMemory.of(memo, resumption);
          return {
            memory,
            webhooks: options.webhooks ?? false,
            end: end.signal,
            isDelegated: ({ type }) => options.delegate !== undefined && LOCAL.has(type),
            delegate: async (command, place) => {
              const work = localWork(state, command);
              // Refused where it is not here: others of this engine may lack it as well.
              this.#parts.dependencies(state, how).functions.find(state, work.command.step);
              await options.delegate!({ ...work, place });
              if (options.worksHere === true) memory.worker ??= thisHolder(randomUUID());
            },
          };
        },
      });
      this.#cache.put({ ...remembered, tools }, wakeAt === null ? null : wakeAt - clock.now());
      const { status, pause, spentMicros } = state;
      const driven = { spentMicros, pause: pause?.reason ?? null };
      const awaitsFunds = pause?.reason === "funds" && (options.waitForFundsMs ?? 0) > 0;
      const fundsAt = awaitsFunds ? clock.now() + FUNDS_EVERY_MS : null;
      return { status, wakeAt: wakeAt ?? fundsAt, message: pause?.message ?? state.message, driven };
    } finally {
      timer.cancel();
      options.signal?.removeEventListener("abort", onEnd);
    }
  }

  /** Nobody asked just now: a run that is idle continues only with a decision, or once what it paused for is there. */
  async #woken(
    state: RunState,
    inbox: readonly InboxEntry[],
    { waitForFundsMs = 0, signal }: SliceOptions,
  ): Promise<Start> {
    const { clock, client } = this.#parts;
    const isWaiting = state.pause?.reason !== "funds" || waitForFundsMs > 0;
    const canContinue = async () =>
      isAskedToGoOn(inbox) || (isWaiting && isPauseOver(state.pause, { client, clock, signal }));
    const isIdle = isRunFinal(state.status) || (state.status === "paused" && !(await canContinue()));
    return isIdle ? { staysPaused: true } : { outdatedStops: outdatedStops(inbox, true) };
  }

  /** With the code of its functions, where it has any and this process knows them. */
  async #start(remembered: Remembered, { findPipeline }: Pick<SliceOptions, "findPipeline">): Promise<Start> {
    const { planned } = remembered.state;
    if (
      remembered.code === null &&
      findPipeline !== undefined &&
      planned.plan.steps.some((step) => traitsOf(step).needsCode)
    ) {
      const pipeline = await findPipeline(planned).catch((error: unknown) => {
        throw new CodeElsewhereError(remembered.state.runId, error instanceof Error ? error.message : String(error));
      });
      if (pipeline !== null) remembered.code = codeOf(redraft(pipeline, planned.input));
    }
    return { code: remembered.code ?? undefined, giveUpAfterMs: Number.POSITIVE_INFINITY };
  }
}

function isDue({ status, wakeAt, resumeAt, lease }: RunRow, now: number): boolean {
  if (lease !== null) return true;
  if (wakeAt !== null) return wakeAt <= now;
  return status === "planned" || status === "running" || (resumeAt !== null && resumeAt <= now);
}

/** When the wallet is looked at next for a paused run, should it wait for funds; null: nobody waits that long. */
function fundsLookedAt(
  { status, updatedAt }: RunRow,
  { waitForFundsMs = 0 }: SliceOptions,
  now: number,
): number | null {
  return status === "paused" && now < updatedAt + waitForFundsMs ? now + FUNDS_EVERY_MS : null;
}

/** Steps whose code is not here are no reason to pause: another worker may have it. What is left to a person waits for none. */
function leavingCode(deps: DriveDependencies, { runId }: RunState): DriveDependencies {
  const functions: StepFunctions = {
    find(state, path) {
      const found = deps.functions.find(state, path);
      const isWithPerson = state.steps[path]?.attempts.at(-1)?.phase === "unresolved";
      if ("missing" in found && !isWithPerson) throw new CodeElsewhereError(runId, found.missing);
      return found;
    },
  };
  return { ...deps, functions };
}

/** What another version of the program, or another process of the engine, may be able to drive. */
function isForOthers(error: unknown): error is Error {
  return (
    error instanceof CodeElsewhereError ||
    error instanceof JournalNewerVersionError ||
    error instanceof IllegalEventError ||
    error instanceof AccountMismatchError
  );
}

function localWork(state: RunState, command: Command): LocalWork {
  if (!("step" in command)) throw new Error(`${command.type} is no work of a step.`);
  return { runId: state.runId, command, of: workOf(state, command.step)! };
}

/** A run as a slice left it; the next slice reads only what others wrote since. */
interface Remembered {
  readonly state: RunState;
  /** Of its local functions; null until a slice needed them. */
  code: Code | null;
  /** What the last slice worked with. */
  tools: DriveTools | null;
}

/** Parts of states that are remembered at most, see `weightOf`, the newest state left out: some tens of megabytes. */
const MOST_WEIGHT = 60_000;
/** What a run weighs beside its parts. */
const RUN_WEIGHT = 5;
/** Of a smaller run the next slice is as fast with tools of its own. */
const WORTH_TOOLS = 250;
/** A smaller run that is not due within so many milliseconds is read again. */
const SOON_MS = 60_000;

/** The states of the runs that had their slices last. What is taken out is put back only by a slice that went well. */
class StateCache {
  readonly #kept = new Map<string, Remembered & { readonly weight: number }>();
  #weight = 0;

  take({ runId, createdAt, lastSeq }: RunRow): Remembered | null {
    const kept = this.#kept.get(runId);
    if (kept === undefined) return null;
    this.#kept.delete(runId);
    this.#weight -= kept.weight;
    // A run may be removed, and another one have its name.
    return kept.state.createdAt === createdAt && kept.state.seq <= lastSeq ? kept : null;
  }

  /** As it is now: for whoever only reads, and may see what the next slice does to it. */
  peek({ runId, createdAt, lastSeq }: RunRow): Remembered | null {
    const kept = this.#kept.get(runId);
    return kept?.state.createdAt === createdAt && kept.state.seq === lastSeq ? kept : null;
  }

  /** `dueInMs`: null where the run is idle. */
  put({ state, code, tools }: Remembered, dueInMs: number | null): void {
    // Of a run that continues, an event is at most one more part.
    if (tools !== null) tools.weight ??= weightOf(state);
    const weight = RUN_WEIGHT + (tools?.weight ?? weightOf(state));
    if (weight < WORTH_TOOLS && (dueInMs === null || dueInMs > SOON_MS)) return;
    this.#kept.set(state.runId, { state, code, tools: weight < WORTH_TOOLS ? null : tools, weight });
    this.#weight += weight;
    for (const [oldest, { weight: freed }] of this.#kept) {
      if (this.#weight <= MOST_WEIGHT || this.#kept.size === 1) return;
      this.#kept.delete(oldest);
      this.#weight -= freed;
    }
  }
}

/** The code of a run that has local functions; null where this process has it not. */
type FindPipeline = (planned: RunPlanned) => Promise<Pipeline | null>;

/** Local work of a run, for another job of the engine: plain JSON. */
export interface LocalWork {
  readonly runId: string;
  readonly command: Command & { readonly step: string };
  /** Which try of the step it belongs to. */
  readonly of: string;
  /** How many functions of the run were under way before it: of what waits, the lower goes first. Default 0. */
  readonly place?: number;
}

export interface SliceOptions {
  /** A person requested that the run continues, as `resume` would. Default: it continues as far as it is due. */
  readonly resume?: ResumeOptions | undefined;
  /** For runs with local functions. Default: such steps are left to other processes. */
  readonly findPipeline?: FindPipeline | undefined;
  /**
   * Takes a function that may last long, as a job of the engine of its own; {@link Showrunner.work} performs it. Settles once
   * the engine has it; one that it has already changes nothing. Default: functions run within the slice.
   */
  readonly delegate?: ((work: LocalWork) => Promise<void>) | undefined;
  /** What was delegated dies with this process. Default false: others of the engine take it over. */
  readonly worksHere?: boolean | undefined;
  /** Looks at the run although it is not due: what another process had of it may have died with that. Default false. */
  readonly anew?: boolean | undefined;
  /** Webhooks tell of the end of jobs, and polls only stand behind them. Default false. */
  readonly webhooks?: boolean | undefined;
  /** Looks at the wallet for a run that paused for funds, every ten seconds for so long, milliseconds. Default 0. */
  readonly waitForFundsMs?: number | undefined;
  /** Called with the run's events once they are in the journal, those of others included. */
  readonly onEvents?: ((events: readonly StoredEvent[]) => void) | undefined;
  /** Begins nothing more after so many milliseconds, so that other runs get their turn. Default 10 000. */
  readonly maxMs?: number | undefined;
  /** Aborting ends the slice as soon as what is under way has ended. */
  readonly signal?: AbortSignal | undefined;
}

/** How a slice ended. */
export interface Slice {
  /** `busy`: another process holds the run. `left`: this process cannot drive it, and `message` says why. */
  readonly status: RunStatus | "busy" | "left";
  /** When to look again, epoch milliseconds; null: only once something is in the run's inbox. */
  readonly wakeAt: number | null;
  readonly message: string | null;
  /** As it was left; null where nothing was driven. */
  readonly driven: { readonly spentMicros: number; readonly pause: PauseReason | null } | null;
}
