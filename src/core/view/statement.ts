import { fold, type StoredEvent } from "../journal/events.ts";
import { changeLedger, emptyEntry, entryChange, type LedgerEntry, ledgerChanges } from "../journal/record.ts";
import type { OutputState, RunState } from "../journal/state.ts";

/** `from` is inclusive, and `to` is exclusive. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

export interface MadeOfKind {
  readonly kind: "image" | "video" | "audio" | "voice" | "text" | "file";
  readonly count: number;
  readonly durationMs: number;
}

export interface OpenAmount {
  readonly step: string;
  readonly attempt: number;
  readonly amountMicros: number;
  /**
   * Why the amount is open:
   * - `bill`: the job's cost is not known.
   * - `submit`: it is unknown whether a job exists.
   * - `impossible`: the job's bill is implausible.
   * - `answer`: an unanswered request may have been charged.
   */
  readonly why: "bill" | "submit" | "impossible" | "answer";
}

export interface RunCharges {
  /** The cost in micro-dollars. It includes corrections of earlier bills, so it may be negative. */
  readonly costMicros: number;
  readonly made: readonly MadeOfKind[];
  readonly unbilled: readonly OpenAmount[];
  readonly disputed: readonly OpenAmount[];
}

interface Entry {
  readonly step: string;
  readonly attempt: number;
  ledger: LedgerEntry;
  heldAt: number;
  billedAt: number | null;
  isAnswered: boolean;
}

export function runCharges(events: readonly StoredEvent[], { from, to }: Period): RunCharges {
  const state = fold(events);
  const entries = new Map<string, Entry>();
  const isWithin = (at: number | null) => at !== null && at >= from && at < to;
  const abandoned: OpenAmount[] = [];
  let costMicros = 0;
  for (const { event, at } of events) {
    for (const change of ledgerChanges([event])) {
      const { step, attempt } = change;
      const entry = entryOf(entries, step, attempt);
      const before = entry.ledger.settledMicros;
      entry.ledger = changeLedger(entry.ledger, entryChange(change), { at, mark: 0 });
      if (change.type === "hold") entry.heldAt = at;
      if (change.type !== "settle") continue;
      entry.billedAt ??= at;
      entry.isAnswered ||= event.type === "chat.answered";
      const amountMicros = entry.ledger.settledMicros - before;
      if (!isWithin(at)) continue;
      if (event.type === "chat.abandoned") abandoned.push({ step, attempt, amountMicros, why: "answer" });
      else costMicros += amountMicros;
    }
  }
  const all = [...entries.values()];
  const open = all
    .filter(({ ledger, heldAt }) => ledger.heldMicros > 0 && isWithin(heldAt))
    .map((entry) => openAmount(entry, state));
  return {
    costMicros,
    made: made(
      all.filter(({ billedAt }) => isWithin(billedAt)),
      state,
    ),
    unbilled: open.filter(({ why }) => why === "bill"),
    disputed: [...open.filter(({ why }) => why !== "bill"), ...abandoned],
  };
}

function entryOf(entries: Map<string, Entry>, step: string, attempt: number): Entry {
  const key = `${attempt} ${step}`;
  const known = entries.get(key);
  if (known !== undefined) return known;
  const entry: Entry = { step, attempt, ledger: emptyEntry, heldAt: 0, billedAt: null, isAnswered: false };
  entries.set(key, entry);
  return entry;
}

function openAmount({ step, attempt, ledger }: Entry, state: RunState | null): OpenAmount {
  const job = state?.steps[step]?.attempts[attempt - 1];
  const doubt = job?.impossibleBill === undefined ? "bill" : "impossible";
  const why = job?.unresolved != null ? "submit" : doubt;
  return { step, attempt, amountMicros: ledger.heldMicros, why };
}

function made(billed: readonly Entry[], state: RunState | null): readonly MadeOfKind[] {
  const kinds = new Map<MadeOfKind["kind"], MadeOfKind>();
  const add = (kind: MadeOfKind["kind"], lengthMs: number) => {
    const { count, durationMs } = kinds.get(kind) ?? { count: 0, durationMs: 0 };
    kinds.set(kind, { kind, count: count + 1, durationMs: durationMs + lengthMs });
  };
  for (const { step, attempt, isAnswered } of billed) {
    if (isAnswered) add("text", 0);
    for (const output of state?.steps[step]?.attempts[attempt - 1]?.outputs ?? []) {
      if (output.status !== "FAILED") add(kindOf(output), output.durationMs ?? 0);
    }
  }
  return [...kinds.values()];
}

function kindOf({ voiceId, contentType }: OutputState): MadeOfKind["kind"] {
  if (voiceId !== null) return "voice";
  const [kind] = (contentType ?? "").split("/");
  return kind === "image" || kind === "video" || kind === "audio" || kind === "text" ? kind : "file";
}
