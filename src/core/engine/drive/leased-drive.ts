import { randomUUID } from "node:crypto";
import type { Clock } from "../../api/index.ts";
import { apply, type RunEvent } from "../../journal/events.ts";
import { isHolderDead, retireHolder, thisHolder } from "../../journal/host.ts";
import type { RunRepository } from "../../journal/run-repository.ts";
import type { RunState } from "../../journal/state.ts";
import type { InboxMessage, JournalStore, LeaseHolder, LeaseOutcome } from "../../journal/store.ts";
import { ownText } from "../../kit/clean-text.ts";
import { LongWork } from "../../kit/long-work.ts";
import type { Json } from "../../plan/plan.ts";
import { inboxEvents, inOrder } from "../../run/inbox.ts";
import { RunBusyError } from "../errors.ts";
import { MediaLostError } from "../media/media-errors.ts";
import type { ExpectedDurations } from "../price/expected.ts";
import { drive } from "./drive.ts";
import { type DriveDependencies, type DriveTools, driveTools, type SliceOptions } from "./drive-tools.ts";
import { beginRun, type RerunRevision, type Start } from "./resume-run.ts";
import { RunWriter, type Taken } from "./run-writer.ts";
import type { Updates } from "./updates.ts";

const QUOTED_AT_ONCE = 1_000;

export interface HolderParts {
  readonly store: JournalStore;
  readonly repository: RunRepository;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly durations: ExpectedDurations;
  readonly notifier: { poke(): void } | null;
  dependencies(state: RunState, how: Start): DriveDependencies;
}

interface LeasedDrive {
  readonly state: RunState;
  readonly updates: Pick<Updates, "push" | "progress">;
  readonly stop: AbortSignal;
  readonly how: Start;
  /**
   * Returns the options for a slice, given the memo that the previous slice stored. Default: execute the run until it
   * is idle.
   */
  readonly slice?: (memo: Json, resumption: { readonly isResumed: boolean }) => SliceOptions;
  readonly tools?: DriveTools | null;
}

interface DriveEnd {
  readonly pending: RerunRevision | null;
  readonly wakeAt: number | null;
  readonly tools: DriveTools | null;
}

export async function driveAsHolder(parts: HolderParts, leased: LeasedDrive): Promise<DriveEnd> {
  const { store } = parts;
  const holder = thisHolder(randomUUID());
  try {
    const outcome = await takeRun(parts, leased.state.runId, holder);
    if (!outcome.acquired) throw new RunBusyError(leased.state.runId, outcome.heldBy, outcome.expiresAt);
    try {
      return await driveLeased(parts, leased, outcome);
    } catch (error) {
      // Release the lease at once: another version of Showrunner may be able to read events that this version cannot.
      await store.releaseLease(outcome.lease).catch(() => {});
      throw error;
    }
  } catch (error) {
    // The lease may have been recorded, because after a disk failure it is unclear what was written.
    retireHolder(holder);
    throw error;
  }
}

function takeRun({ store, clock, leaseMs }: HolderParts, runId: string, holder: LeaseHolder): Promise<LeaseOutcome> {
  return store.takeLease(runId, holder, { at: clock.now(), ttlMs: leaseMs, isDead: isHolderDead });
}

export async function handOver(parts: HolderParts, state: RunState, quoted: readonly RunEvent[]): Promise<void> {
  const outcome = await takeRun(parts, state.runId, thisHolder(randomUUID()));
  // A worker has the run and requests the quotes itself.
  if (!outcome.acquired) return;
  apply(state, outcome.event);
  const writer = new RunWriter({ ...parts, onEvents: () => {} }, state, outcome);
  writer.take(quoted);
  const isParked = await writer.park({ at: parts.clock.now(), memo: {} }, quoted);
  if (!isParked) await parts.store.releaseLease(outcome.lease);
}

async function driveLeased(parts: HolderParts, leased: LeasedDrive, outcome: Taken): Promise<DriveEnd> {
  const { store, repository, clock, leaseMs } = parts;
  const { state, updates, how } = leased;
  const { runId } = state;
  const { lease, event: taken, memo } = outcome;
  const since = taken.seq === state.seq + 1 ? [taken] : await store.read(runId, { afterSeq: state.seq });
  const known = leased.tools?.seq === taken.seq - 1 ? leased.tools : null;
  for (const event of since) {
    apply(state, event);
    known?.scheduler.note(event.event);
  }
  updates.push(since);
  const writer = new RunWriter({ ...parts, onEvents: (written) => updates.push(written) }, state, outcome);
  writer.tools = known;
  const { move } = how;
  if (move !== undefined && !repository.isOurs(state)) await writer.record([move]);
  const work = new LongWork();
  const { quoted = [] } = how;
  for (let from = 0; from < quoted.length; from += QUOTED_AT_ONCE) {
    await writer.record(quoted.slice(from, from + QUOTED_AT_ONCE));
    await work.pause(QUOTED_AT_ONCE);
  }
  if (how.revision?.kind === "rerun") await takeInDecisions(store, writer, state);
  const stoppedSince = stopAfter(state, how);
  const { events: begun, pending, isIdle } = await beginRun(state, how);
  const events = [...begun, ...stoppedSince];
  const outdated = new Set(how.outdatedStops);
  const inbox = outdated.size === 0 ? [] : (await store.inbox(runId)).filter(({ id }) => outdated.has(id));
  await writer.record(events, inbox);
  if (isIdle) {
    await store.releaseLease(lease);
    return { pending, wakeAt: null, tools: null };
  }
  const { length } = state.planned.plan.steps;
  await work.pause(length);
  const isResumed = events.some(({ type }) => type === "run.resumed" || type === "run.reopened");
  const slice = leased.slice?.(memo, { isResumed });
  // The scheduler does not know that commands were lost, so it is built again.
  const forgot = slice?.memory.forgetDelegated(clock.now()) === true;
  const tools = known !== null && !forgot ? known : await driveTools(state, parts.durations);
  writer.tools = tools;
  const deps = parts.dependencies(state, how);
  await work.pause(length);
  const polls = slice === undefined ? {} : { polls: { planned: slice.memory.polls, webhooks: slice.webhooks } };
  const wakeAt = await drive({ ...deps, ...polls }, state, writer, {
    ...(slice !== undefined && { slice }),
    tools,
    leaseMs,
    hasMail: outcome.hasMail || state.seq > taken.seq,
    stop: leased.stop,
    onProgress: (progress) => updates.progress(progress),
  }).catch((error: unknown) => {
    // The pause is already recorded.
    if (error instanceof MediaLostError && state.status === "paused") return null;
    throw error;
  });
  tools.seq = state.seq;
  return { pending, wakeAt, tools };
}

/** Returns an event that pauses the run again if a stop was requested while a change waited for jobs to finish. */
function stopAfter({ pause }: RunState, { lastStop = Number.POSITIVE_INFINITY }: Start): readonly RunEvent[] {
  const isAfter = (pause?.stopId ?? 0) > lastStop;
  return isAfter ? [{ type: "run.paused", reason: "stopped", message: ownText("stopped on request") }] : [];
}

async function takeInDecisions(store: JournalStore, writer: RunWriter, state: RunState): Promise<void> {
  const decisions = (await store.inbox(state.runId)).filter(({ message }) => DECISIONS.has(message.type));
  const counting = inOrder(decisions);
  const replaced = decisions.filter((entry) => !counting.includes(entry));
  await writer.record([], replaced);
  for (const entry of counting) {
    const events = inboxEvents(state, entry).filter(({ type }) => type !== "run.resumed");
    await writer.record(events, [entry]);
  }
}

const DECISIONS: ReadonlySet<InboxMessage["type"]> = new Set(["approve", "reject", "adopt", "comment"]);
