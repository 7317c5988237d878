import type { PlannedPoll } from "../../api/index.ts";
import { isHolderDead } from "../../journal/host.ts";
import type { LeaseHolder } from "../../journal/store.ts";
import type { Json } from "../../plan/plan.ts";
import { HINTED } from "../effects/follow.ts";
import type { SpendingMemo } from "../money/spending.ts";
import type { WatchMemo } from "../service/service-answers.ts";

/** After this many milliseconds without a result, a delegated command is delegated again. */
export const DELEGATED_AGAIN_MS = 15 * 60_000;

/** Facts that a drive passes from slice to slice outside the journal; a crash loses them. */
export class DriveMemory {
  /** Earliest time for retrying each command, in epoch milliseconds. Infinity: not in this drive. */
  readonly notBefore: Map<string, number>;
  /** Ids of submit commands whose request failed before it left this machine. */
  readonly unsent: Set<string>;
  readonly polls: Map<string, PlannedPoll>;
  /** When each command was handed to another worker, in epoch milliseconds, by command id. */
  readonly delegated: Map<string, number>;
  /** The process that keeps the delegated commands in memory; null if an engine stores them. */
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

  /** `isResumed`: true to forget waiting times, so that commands are retried at once. */
  static of(memo: Json, { isResumed }: { readonly isResumed: boolean }): DriveMemory {
    // Only this class writes the memo, so the cast is safe.
    const stored = (memo ?? {}) as unknown as Partial<StoredMemo>;
    if (!isResumed) return new DriveMemory(stored);
    return new DriveMemory({ ...stored, notBefore: [], unsent: [], service: null, spending: null });
  }

  forgetDelegated(now: number): boolean {
    const late = [...this.delegated].filter(([, since]) => since + DELEGATED_AGAIN_MS <= now);
    for (const [id] of late) this.delegated.delete(id);
    return late.length > 0;
  }

  adopt({ step, attempt }: { readonly step: string; readonly attempt: number }): void {
    const id = `follow:${step}#${attempt}`;
    this.notBefore.delete(id);
    this.polls.delete(id);
  }

  hint({ step, attempt }: { readonly step: string; readonly attempt: number }): void {
    const id = `follow:${step}#${attempt}`;
    this.notBefore.delete(id);
    const planned = this.polls.get(id);
    this.polls.set(id, { expectedAt: null, ...planned, dueAt: HINTED, read: "job" });
  }

  /** If `seen` is null, keeps only the delegated commands. */
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
