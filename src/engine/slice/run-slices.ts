import { randomUUID } from "node:crypto";
import { redraft } from "../../define/index.ts";
import {
  AccountMismatchError,
  IllegalEventError,
  JournalNewerVersionError,
  RunUnknownError,
} from "../../journal/errors.ts";
import type { RunEvent } from "../../journal/events.ts";
import { isHolderDead, thisHolder } from "../../journal/host.ts";
import { isRunFinal, type RunState, type RunStatus } from "../../journal/state.ts";
import type { InboxEntry, RunRow } from "../../journal/store.ts";
import { traitsOf } from "../../plan/index.ts";
import { type Command, commandId } from "../../run/command.ts";
import { workOf } from "../../run/inbox.ts";
import { isAskedToGoOn, outdatedStops } from "../change/stops.ts";
import type { Start } from "../drive/begin-run.ts";
import { DriveMemory } from "../drive/drive-memory.ts";
import type { DriveDependencies } from "../drive/drive-options.ts";
import { driveAsHolder, type HolderParts } from "../drive/hold-run.ts";
import { RunTakenOverError } from "../drive/run-writer.ts";
import { Updates } from "../drive/updates.ts";
import { codeOf, type StepFunctions } from "../effects/functions.ts";
import { perform } from "../effects/index.ts";
import { CodeElsewhereError, RunBusyError } from "../errors.ts";
import type { LocalWork, Slice, SliceOptions } from "./slice-options.ts";
import { type Remembered, StateCache } from "./state-cache.ts";

const MOST_MS = 10_000;
/** A run that another process holds is tried again so soon, milliseconds. */
const BUSY_MS = 1_000;
/** A run that this process cannot drive is left to others for so long, milliseconds. */
const LEFT_MS = 5_000;
/** The rest of a slice whose steps of local code are performed elsewhere. */
const LOCAL: ReadonlySet<Command["type"]> = new Set(["task", "pick"]);
const never = new AbortController().signal;

/** Drives runs in slices: between two, a run is in the journal and nowhere else. */
export class RunSlices {
  readonly #parts: HolderParts;
  readonly #cache = new StateCache();

  constructor(parts: HolderParts) {
    const { dependencies } = parts;
    this.#parts = { ...parts, dependencies: (state, how) => leavingCode(dependencies(state, how), state) };
  }

  /**
   * Does all that is due for the run, then parks it. A run that is not due costs one read. Rejects only for what is
   * wrong outside of the run, such as a full disk.
   */
  async slice(runId: string, options: SliceOptions, resumed: Start | null): Promise<Slice> {
    const { store, clock } = this.#parts;
    const row = await store.run(runId);
    if (row === null) throw new RunUnknownError(runId);
    const inbox = await store.inbox(runId);
    if (resumed === null && inbox.length === 0 && !isDue(row, clock.now())) {
      return { status: row.status as RunStatus, wakeAt: row.wakeAt, message: null };
    }
    try {
      return await this.#drive(row, options, resumed ?? { unread: inbox });
    } catch (error) {
      const now = clock.now();
      if (error instanceof RunBusyError || error instanceof RunTakenOverError) {
        return { status: "busy", wakeAt: now + BUSY_MS, message: error.message };
      }
      if (isForOthers(error)) return { status: "left", wakeAt: now + LEFT_MS, message: error.message };
      throw error;
    }
  }

  /** Writes down the first prices of a run that was just created, and hands it to the engine. */
  async hand(state: RunState, quoted: readonly RunEvent[]): Promise<void> {
    const { store, clock, leaseMs } = this.#parts;
    const at = clock.now();
    const { runId } = state;
    const outcome = await store.takeLease(runId, thisHolder(randomUUID()), {
      at,
      ttlMs: leaseMs,
      isDead: isHolderDead,
    });
    // The engine was faster, and asks for the prices itself.
    if (!outcome.acquired) return;
    const { lease } = outcome;
    const wake = { at, memo: {} };
    const commit = { lease, afterSeq: state.seq + 1, at, events: quoted, status: state.status, park: true, wake };
    const { committed } = await store.commit(commit);
    if (!committed) await store.releaseLease(lease);
  }

  /** Performs local work of a run, and tells the run what came of it. Rejects where it has to be tried again. */
  async work({ runId, command, of }: LocalWork, options: Pick<SliceOptions, "findPipeline" | "signal"> = {}) {
    const { store, clock, repository } = this.#parts;
    const row = await store.run(runId);
    if (row === null) throw new RunUnknownError(runId);
    const remembered = this.#cache.peek(row) ?? { state: await repository.load(runId), code: null, tools: null };
    const { state } = remembered;
    const { step } = command;
    if (workOf(state, step) !== of) return;
    const how = await this.#start(remembered, options);
    const events: RunEvent[] = [];
    const result = await perform(command, {
      ...this.#parts.dependencies(state, how),
      ...{ state, signal: options.signal ?? never, priority: 0 },
      emit: (more) => events.push(...more),
      recorded: async () => {},
      progress: (progress) => void store.setProgress(runId, progress).catch(() => {}),
      reportOutage: () => 0,
    });
    events.push(...result.events);
    options.signal?.throwIfAborted();
    const failure = result.failure ?? (result.serviceFailure && new Error(result.serviceFailure.message));
    if (failure !== undefined) throw failure;
    const message = { type: "performed", step, command: commandId(command), of, events } as const;
    await store.send(runId, message, clock.now());
  }

  async #drive(
    row: RunRow,
    options: SliceOptions,
    asked: Start | { readonly unread: readonly InboxEntry[] },
  ): Promise<Slice> {
    const { store, repository, clock } = this.#parts;
    const { runId } = row;
    const remembered = this.#cache.take(row) ?? { state: await repository.load(runId), code: null, tools: null };
    const { state } = remembered;
    const how = {
      ...(await this.#start(remembered, options)),
      ...("unread" in asked ? woken(state, asked.unread, clock.now()) : asked),
    };
    if (how.move === undefined) repository.checkAccount(state);
    const end = new AbortController();
    const onEnd = () => end.abort();
    options.signal?.addEventListener("abort", onEnd);
    if (options.signal?.aborted === true) onEnd();
    const timer = clock.setTimer(options.maxMs ?? MOST_MS, onEnd);
    try {
      const { wakeAt, tools } = await driveAsHolder(this.#parts, {
        ...{ state, how, stop: never, tools: remembered.tools },
        updates: new Updates(store, runId, state.seq),
        slice: (memo) => ({
          memory: DriveMemory.of(memo),
          webhooks: options.webhooks ?? false,
          end: end.signal,
          isDelegated: ({ type }) => options.delegate !== undefined && LOCAL.has(type),
          delegate: async (command, place) => {
            const work = localWork(state, command);
            // Refused where it is not here: others of this engine may lack it as well.
            this.#parts.dependencies(state, how).functions.find(state, work.command.step);
            await options.delegate!({ ...work, place });
          },
        }),
      });
      this.#cache.put({ ...remembered, tools }, wakeAt === null ? null : wakeAt - clock.now());
      return { status: state.status, wakeAt, message: state.pause?.message ?? state.message };
    } finally {
      timer.cancel();
      options.signal?.removeEventListener("abort", onEnd);
    }
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

/** Nobody asked just now: a run that rests goes on only with a decision, or once the cap that it met is free again. */
function woken({ status, pause }: RunState, inbox: readonly InboxEntry[], now: number): Start {
  const isFree = (pause?.resumeAt ?? Number.POSITIVE_INFINITY) <= now;
  const rests = isRunFinal(status) || (status === "paused" && !isFree && !isAskedToGoOn(inbox));
  return rests ? { staysPaused: true } : { outdatedStops: outdatedStops(inbox, true) };
}

function isDue({ status, wakeAt, lease }: RunRow, now: number): boolean {
  if (lease !== null) return true;
  if (wakeAt === null) return status === "planned" || status === "running";
  return wakeAt <= now;
}

/** Steps whose code is not here are no reason to pause: another worker may have it. */
function leavingCode(deps: DriveDependencies, { runId }: RunState): DriveDependencies {
  const functions: StepFunctions = {
    find(state, path) {
      const found = deps.functions.find(state, path);
      if ("missing" in found) throw new CodeElsewhereError(runId, found.missing);
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
