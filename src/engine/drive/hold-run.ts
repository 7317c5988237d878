import { randomUUID } from "node:crypto";
import type { Clock } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import { apply } from "../../journal/fold.ts";
import { isHolderDead, retireHolder, thisHolder } from "../../journal/host.ts";
import type { RunRepository } from "../../journal/run-repository.ts";
import type { RunState } from "../../journal/state.ts";
import type { JournalStore, Lease, LeaseHolder, LeaseOutcome } from "../../journal/store.ts";
import { LongWork } from "../../long-work.ts";
import type { Json } from "../../plan/plan.ts";
import { RunBusyError } from "../errors.ts";
import { noticesOf } from "../notify/notifier.ts";
import type { ExpectedDurations } from "../price/expected-durations.ts";
import { learnedPrices } from "../price/learned-prices.ts";
import { beginRun, type RerunRevision, type Start } from "./begin-run.ts";
import { drive } from "./drive.ts";
import type { DriveDependencies, SliceOptions } from "./drive-options.ts";
import { type DriveTools, driveTools } from "./drive-tools.ts";
import { storedEvent } from "./run-writer.ts";
import type { Updates } from "./updates.ts";

/** First prices of a large plan are written down so many at a time: what is not is asked for again. */
const QUOTED_AT_ONCE = 1_000;

export interface HolderParts {
  readonly store: JournalStore;
  readonly repository: RunRepository;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly durations: ExpectedDurations;
  readonly notifier: { poke(): void } | null;
  /** What every drive of a run starts with. */
  dependencies(state: RunState, how: Start): DriveDependencies;
}

/** One holding of a run's lease. The state is brought up to date, and its own from now on. */
interface Holding {
  readonly state: RunState;
  readonly updates: Updates;
  readonly stop: AbortSignal;
  readonly how: Start;
  /** Of a slice, from what the slice before it left. Absent: the run is driven until it rests. */
  readonly slice?: (memo: Json) => SliceOptions;
  /** What it works with, where that is there: as the slice before it left it, or of a run that was just planned. */
  readonly tools?: DriveTools | null;
}

interface Held {
  /** The revision to apply after that. */
  readonly pending: RerunRevision | null;
  /** When a parked run goes on, epoch milliseconds; null: it rests. */
  readonly wakeAt: number | null;
  /** For its next slice; null: nothing was driven. */
  readonly tools: DriveTools | null;
}

/** Takes the lease, drives the run until it is parked, and gives the lease back. Throws {@link RunBusyError}. */
export async function driveAsHolder(parts: HolderParts, holding: Holding): Promise<Held> {
  const holder = thisHolder(randomUUID());
  try {
    return await hold(parts, holding, holder);
  } catch (error) {
    // Its lease may be in the journal all the same: a disk that fails leaves open what arrived.
    retireHolder(holder);
    throw error;
  }
}

async function hold(parts: HolderParts, holding: Holding, holder: LeaseHolder): Promise<Held> {
  const { store, clock, leaseMs: ttlMs } = parts;
  const { runId } = holding.state;
  const outcome = await store.takeLease(runId, holder, { at: clock.now(), ttlMs, isDead: isHolderDead });
  if (!outcome.acquired) throw new RunBusyError(runId, outcome.heldBy, outcome.expiresAt);
  try {
    return await driveLeased(parts, holding, outcome);
  } catch (error) {
    // Events that this version cannot read, say: others need not wait for the lease to end.
    await store.releaseLease(outcome.lease).catch(() => {});
    throw error;
  }
}

async function driveLeased(
  parts: HolderParts,
  holding: Holding,
  outcome: LeaseOutcome & { readonly acquired: true },
): Promise<Held> {
  const { store, repository, clock } = parts;
  const { state, updates, how } = holding;
  const { runId } = state;
  const { lease, event: taken, memo } = outcome;
  const since = taken.seq === state.seq + 1 ? [taken] : await store.read(runId, { afterSeq: state.seq });
  const known = holding.tools?.seq === taken.seq - 1 ? holding.tools : null;
  for (const event of since) {
    apply(state, event);
    known?.scheduler.note(event.event);
  }
  updates.push(since);
  const write = (events: readonly RunEvent[], inbox: readonly number[] = []) =>
    append(parts, holding, lease, { events, inbox });
  const { move } = how;
  if (move !== undefined && !repository.isOurs(state)) await write([move]);
  const goesOn = holding.slice !== undefined && state.status === "running";
  const work = new LongWork();
  const { quoted = [] } = how;
  for (let from = 0; from < quoted.length; from += QUOTED_AT_ONCE) {
    await write(quoted.slice(from, from + QUOTED_AT_ONCE));
    await work.pause(QUOTED_AT_ONCE);
  }
  const { events, pending, rests } = await beginRun(state, how);
  const outdated = new Set(how.outdatedStops);
  const inbox = outdated.size === 0 ? [] : (await store.inbox(runId)).filter(({ id }) => outdated.has(id));
  await write(
    events,
    inbox.map(({ id }) => id),
  );
  if (rests) {
    await store.releaseLease(lease);
    return { pending, wakeAt: null, tools: null };
  }
  if (!goesOn) await write(await learnedPrices(state, store));
  const { length } = state.planned.plan.steps;
  await work.pause(length);
  const slice = holding.slice?.(memo);
  // Of work that another job of the engine seems to have lost, no step is told.
  const forgot = slice?.memory.forgetDelegated(clock.now()) === true;
  const tools = known !== null && !forgot ? known : await driveTools(state, parts.durations);
  const deps = parts.dependencies(state, how);
  await work.pause(length);
  const polls = slice === undefined ? {} : { polls: { planned: slice.memory.polls, webhooks: slice.webhooks } };
  const wakeAt = await drive({ ...deps, ...polls }, state, lease, {
    ...(slice !== undefined && { slice }),
    tools,
    hasMail: outcome.hasMail || state.seq > taken.seq,
    tail: outcome.tail + state.seq - taken.seq,
    schedule: (plan) => tools.ranks.schedule(plan),
    stop: holding.stop,
    onEvents: (written) => {
      tools.ranks.learn(written);
      updates.push(written);
    },
    onProgress: (progress) => {
      tools.ranks.estimate(progress);
      updates.progress(progress);
    },
  });
  tools.seq = state.seq;
  return { pending, wakeAt, tools };
}

async function append(
  { store, clock, notifier }: HolderParts,
  { state, updates }: Holding,
  lease: Lease,
  { events, inbox }: { readonly events: readonly RunEvent[]; readonly inbox: readonly number[] },
): Promise<void> {
  if (events.length === 0 && inbox.length === 0) return;
  const at = clock.now();
  const { runId, seq: afterSeq } = state;
  const stored = events.map((event, index) => storedEvent(runId, afterSeq + index, at, event));
  for (const one of stored) apply(state, one);
  const notices = notifier === null ? [] : noticesOf(state, stored);
  const { status, pause } = state;
  const row = { status, resumeAt: pause?.resumeAt ?? null };
  const outcome = await store.commit({ lease, afterSeq, at, events, inbox, notices, ...row });
  if (!outcome.committed) throw new RunBusyError(runId, thisHolder(""), at);
  updates.push(stored);
  if (notices.length > 0) notifier?.poke();
}
