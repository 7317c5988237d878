import type { PlannedPoll } from "../../api/index.ts";
import { isHolderDead } from "../../journal/host.ts";
import type { LeaseHolder } from "../../journal/store.ts";
import type { Json } from "../../plan/plan.ts";
import { HINTED } from "../effects/follow.ts";
import type { SpendingMemo } from "../money/spending.ts";
import type { WatchMemo } from "../service/service-answers.ts";

/** Another job of an engine that was given work so long ago is asked for it again, milliseconds. */
export const DELEGATED_AGAIN_MS = 15 * 60_000;

/**
 * What a drive knows beside the journal's events. A run that is driven in slices hands it from one slice to the next with
 * its park; a crash loses it, and then everything is asked for again.
 */
export class DriveMemory {
  /** When a command may be tried again, epoch milliseconds; Infinity: not in this drive. */
  readonly notBefore: Map<string, number>;
  /** Submits whose every send in this drive never left this machine. */
  readonly unsent: Set<string>;
  /** The next poll of each job that is followed in slices, by the id of its command. */
  readonly polls: Map<string, PlannedPoll>;
  /** Since when other jobs of the engine perform commands, by their ids. */
  readonly delegated: Map<string, number>;
  /** The process that performs all of that, where it dies with it; null where an engine sees to it. */
  worker: LeaseHolder | null;
  service: WatchMemo | null;
  spending: SpendingMemo | null;

  constructor(memo: Partial<StoredMemo> = {}) {
    const notBefore = (memo.notBefore ?? []).map(([id, at]) => [id, at ?? Number.POSITIVE_INFINITY] as const);
    this.notBefore = new Map(notBefore);
    this.unsent = new Set(memo.unsent);
    this.polls = new Map(memo.polls);
    this.delegated = new Map(memo.delegated);
    this.worker = memo.worker ?? null;
    if (this.worker !== null && isHolderDead(this.worker)) this.delegated.clear();
    if (this.delegated.size === 0) this.worker = null;
    this.service = memo.service ?? null;
    this.spending = memo.spending ?? null;
  }

  /**
   * Of what {@link DriveMemory.toJson} wrote; a new one where nothing is left of it. `isResumed`: what was put off, or left
   * for another drive, is tried now.
   */
  static of(memo: Json, { isResumed }: { readonly isResumed: boolean }): DriveMemory {
    // Written by this class; the journal hands out nothing else.
    const stored = (memo ?? {}) as unknown as Partial<StoredMemo>;
    if (!isResumed) return new DriveMemory(stored);
    return new DriveMemory({ ...stored, notBefore: [], unsent: [], service: null, spending: null });
  }

  /** Forgets what was handed out too long ago; whether anything was. */
  forgetDelegated(now: number): boolean {
    const late = [...this.delegated].filter(([, since]) => since + DELEGATED_AGAIN_MS <= now);
    for (const [id] of late) this.delegated.delete(id);
    return late.length > 0;
  }

  /** A person said which job it is: that one was not asked for in vain. */
  adopt({ step, attempt }: { readonly step: string; readonly attempt: number }): void {
    const id = `follow:${step}#${attempt}`;
    this.notBefore.delete(id);
    this.polls.delete(id);
  }

  /** A webhook came: the job's poll is due. */
  hint({ step, attempt }: { readonly step: string; readonly attempt: number }): void {
    const id = `follow:${step}#${attempt}`;
    this.notBefore.delete(id);
    const planned = this.polls.get(id);
    this.polls.set(id, { expectedAt: null, ...planned, dueAt: HINTED, read: "job" });
  }

  /** For the next slice; for the next drive, where the run is idle, only what continues elsewhere. */
  left(seen: readonly [WatchMemo, SpendingMemo] | null): Json {
    if (seen === null) return new DriveMemory({ delegated: [...this.delegated], worker: this.worker }).toJson();
    [this.service, this.spending] = seen;
    return this.toJson();
  }

  toJson(): Json {
    const notBefore = [...this.notBefore].map(([id, at]) => [id, Number.isFinite(at) ? at : null] as const);
    const { service, spending } = this;
    const stored: StoredMemo = {
      notBefore,
      service,
      spending,
      unsent: [...this.unsent],
      polls: [...this.polls],
      delegated: [...this.delegated],
      worker: this.worker,
    };
    return stored as unknown as Json;
  }
}

interface StoredMemo {
  readonly notBefore: readonly (readonly [string, number | null])[];
  readonly unsent: readonly string[];
  readonly polls: readonly (readonly [string, PlannedPoll])[];
  readonly delegated: readonly (readonly [string, number])[];
  readonly worker?: LeaseHolder | null;
  readonly service: WatchMemo | null;
  readonly spending: SpendingMemo | null;
}
