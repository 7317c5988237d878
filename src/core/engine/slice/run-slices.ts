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
import { weightOf } from "../../journal/run-repository.ts";
import { isRunFinal, type RunState, type RunStatus } from "../../journal/state.ts";
import type { InboxEntry, RunRow } from "../../journal/store.ts";
import { traitsOf } from "../../plan/index.ts";
import { type Command, commandId } from "../../run/command.ts";
import { workOf } from "../../run/inbox.ts";
import { isAskedToGoOn, outdatedStops } from "../change/compare.ts";
import { type DriveDependencies, DriveMemory, type DriveTools } from "../drive/drive-tools.ts";
import { driveAsHolder, type HolderParts, handOver } from "../drive/leased-drive.ts";
import { FUNDS_EVERY_MS, isPauseOver, type Start } from "../drive/resume-run.ts";
import { RunTakenOverError } from "../drive/run-writer.ts";
import { type Code, codeOf, type StepFunctions } from "../effects/functions.ts";
import { perform } from "../effects/index.ts";
import { CodeElsewhereError, RunBusyError } from "../errors.ts";
import type { ResumeOptions } from "../options/options.ts";

const MOST_MS = 10_000;
const BUSY_MS = 1_000;
const LEFT_MS = 5_000;
const LOCAL: ReadonlySet<Command["type"]> = new Set(["task", "pick"]);

interface SlicesParts extends HolderParts {
  readonly client: Client;
}

export class RunSlices {
  readonly #parts: SlicesParts;
  readonly #cache = new StateCache();

  constructor(parts: SlicesParts) {
    const { dependencies } = parts;
    this.#parts = { ...parts, dependencies: (state, how) => leavingCode(dependencies(state, how), state) };
  }

  /** Does everything that is due for a run. Rejects only for failures outside the run, such as a full disk. */
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

  async #isFunded(row: RunRow, { signal }: SliceOptions): Promise<boolean> {
    const { clock, client, repository } = this.#parts;
    const { pause } = this.#cache.peek(row)?.state ?? (await repository.load(row.runId));
    return pause?.reason === "funds" && isPauseOver(pause, { client, clock, signal });
  }

  hand(state: RunState, quoted: readonly RunEvent[]): Promise<void> {
    return handOver(this.#parts, state, quoted);
  }

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
              // Throw if the code is missing here, because the engine's other processes may lack it as well.
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

  /**
   * Decides whether a run can continue. A paused run can if a message in its inbox requests it or if its pause is over.
   * An ended run never can.
   */
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

function fundsLookedAt(
  { status, updatedAt }: RunRow,
  { waitForFundsMs = 0 }: SliceOptions,
  now: number,
): number | null {
  return status === "paused" && now < updatedAt + waitForFundsMs ? now + FUNDS_EVERY_MS : null;
}

/**
 * Wraps the dependencies so that a run is left to other workers, instead of being paused, if this process lacks a
 * step's code.
 */
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

function isForOthers(error: unknown): error is Error {
  return (
    error instanceof CodeElsewhereError ||
    error instanceof JournalNewerVersionError ||
    error instanceof IllegalEventError ||
    error instanceof AccountMismatchError
  );
}

function localWork(state: RunState, command: Command): LocalWork {
  if (!("step" in command)) throw new Error(`${command.type} does not belong to a step.`);
  return { runId: state.runId, command, of: workOf(state, command.step)! };
}

interface Remembered {
  readonly state: RunState;
  code: Code | null;
  tools: DriveTools | null;
}

/** Maximum total weight (see `weightOf`) of the cached states. This amounts to tens of megabytes. */
const MOST_WEIGHT = 60_000;
const RUN_WEIGHT = 5;
/**
 * Minimum weight (see `weightOf`) of a run whose {@link DriveTools} are cached. For lighter runs, building new ones is
 * just as fast.
 */
const WORTH_TOOLS = 250;
const SOON_MS = 60_000;

class StateCache {
  readonly #kept = new Map<string, Remembered & { readonly weight: number }>();
  #weight = 0;

  take({ runId, createdAt, lastSeq }: RunRow): Remembered | null {
    const kept = this.#kept.get(runId);
    if (kept === undefined) return null;
    this.#kept.delete(runId);
    this.#weight -= kept.weight;
    // A run may have been removed, and its id used again.
    return kept.state.createdAt === createdAt && kept.state.seq <= lastSeq ? kept : null;
  }

  /** Returns the cached state without removing it. The next slice may change the returned object. */
  peek({ runId, createdAt, lastSeq }: RunRow): Remembered | null {
    const kept = this.#kept.get(runId);
    return kept?.state.createdAt === createdAt && kept.state.seq === lastSeq ? kept : null;
  }

  put({ state, code, tools }: Remembered, dueInMs: number | null): void {
    // Reuse an earlier weight, because an event adds at most one part to the state.
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

/** Finds the pipeline of a run that has local functions. Null if this process does not have the pipeline's code. */
type FindPipeline = (planned: RunPlanned) => Promise<Pipeline | null>;

/** A call to a local function, as plain JSON, so that the engine can execute it separately from the slice. */
export interface LocalWork {
  readonly runId: string;
  readonly command: Command & { readonly step: string };
  /** Id of this work. Each attempt and each input has a different id. */
  readonly of: string;
  /**
   * Number of the run's functions that were in progress when this work was delegated. Work with a lower number is
   * executed first. Default 0.
   */
  readonly place?: number;
}

export interface SliceOptions {
  /** Options for resuming the run, set if a person asked for it. By default, a slice does only what is due. */
  readonly resume?: ResumeOptions | undefined;
  /** Finds the code of local functions. By default, steps that need code are left to other processes. */
  readonly findPipeline?: FindPipeline | undefined;
  /**
   * Starts a separate job of the engine for a function that may run for a long time. The job calls {@link
   * EnginePort.work}. Resolves once the engine has stored the job. A repeated call with the same work must have no
   * effect. By default, functions run within the slice.
   */
  readonly delegate?: ((work: LocalWork) => Promise<void>) | undefined;
  /** True if delegated work is lost when this process dies. Default false: other processes take it over. */
  readonly worksHere?: boolean | undefined;
  /** True to check the run even if it is not due, in case a process died while working on it. Default false. */
  readonly anew?: boolean | undefined;
  /** True if webhooks report when jobs end, so that polling is only a fallback. Default false. */
  readonly webhooks?: boolean | undefined;
  /** How long to keep checking the balance if the run paused for lack of funds, in milliseconds. Default 0. */
  readonly waitForFundsMs?: number | undefined;
  /** Called with the run's new events once they are in the journal, including those from other processes. */
  readonly onEvents?: ((events: readonly StoredEvent[]) => void) | undefined;
  /**
   * Time after which the slice starts no new work, in milliseconds, so that other runs get their turn. Default 10,000.
   */
  readonly maxMs?: number | undefined;
  /** Aborting ends the slice as soon as the work in progress has finished. */
  readonly signal?: AbortSignal | undefined;
}

export interface Slice {
  /**
   * The run's status. `busy`: another process is executing the run. `left`: this process cannot execute it, and
   * `message` says why.
   */
  readonly status: RunStatus | "busy" | "left";
  /**
   * When to execute the next slice, in epoch milliseconds. Null if only a message in the run's inbox can continue the
   * run.
   */
  readonly wakeAt: number | null;
  readonly message: string | null;
  /** The run's total cost after the slice, and the reason if it is paused. Null if the run was not executed. */
  readonly driven: { readonly spentMicros: number; readonly pause: PauseReason | null } | null;
}
