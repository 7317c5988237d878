/** Runs that a bench writes into a journal by itself. */
import { draft } from "../../src/core/define/index.ts";
import type { RunEvent } from "../../src/core/journal/events.ts";
import type { Commit, JournalStore, Lease } from "../../src/core/journal/store.ts";
import { makePlan } from "../../src/core/plan/index.ts";
import { builtInCatalog } from "../support/built-in-catalog.ts";
import { layeredPipeline } from "./graph.ts";

type Planned = RunEvent & { readonly type: "run.planned" };

/** The first event of a run of so many steps. */
export function planned(steps: number): Planned {
  const { draft: drafted } = draft(layeredPipeline, { steps });
  const made = makePlan(drafted!, { catalog: builtInCatalog(), files: new Map() });
  if (!made.ok) throw new Error("the bench's own pipeline has problems");
  return {
    ...{ type: "run.planned", plan: made.plan, input: { steps }, baseUrl: "http://127.0.0.1/v3", keyId: "key_1" },
    ...{
      nonce: "n",
      budgetMicros: null,
      maxUnquotedMicros: null,
      quoteMicros: null,
      outDir: ".",
      source: null,
      program: "1.0.0",
    },
    limits: { total: 8, perModel: {}, perModality: {} },
  };
}

/** A step that does nothing ends, and another one starts. */
export function stepEvents(step: number): readonly RunEvent[] {
  const path = `step-${step}`;
  return [
    { type: "step.started", step: path },
    { type: "task.completed", step: path, value: step, files: [] },
    { type: "step.finished", step: path, status: "succeeded", reason: null },
  ];
}

/** A run of its own that this bench drives. */
export class Driver {
  readonly #journal: JournalStore;
  readonly #lease: Lease;
  #seq = 2;
  #step = 0;

  constructor(journal: JournalStore, lease: Lease) {
    this.#journal = journal;
    this.#lease = lease;
  }

  static async start(journal: JournalStore, runId: string, first: Planned): Promise<Driver> {
    await journal.createRun(runId, first, 1);
    const holder = { host: "h", bootId: "b", pid: 1, processStart: "s", instance: "bench", program: "1.0.0" };
    const outcome = await journal.takeLease(runId, holder, { at: 1, ttlMs: 1e9, isDead: () => false });
    if (!outcome.acquired) throw new Error("the lease of a new run is free");
    return new Driver(journal, outcome.lease);
  }

  async commit(events: readonly RunEvent[], more: Partial<Commit & { readonly status: string }> = {}): Promise<void> {
    const commit = { lease: this.#lease, afterSeq: this.#seq, at: 1, events, status: "running", ...more };
    const outcome = await this.#journal.commit(commit);
    if (!outcome.committed) throw new Error("nobody else writes this run");
    this.#seq = outcome.lastSeq;
  }

  /** The events of so many steps, and what a later run finds of them, in one commit. */
  async steps(count: number): Promise<void> {
    const numbers = Array.from({ length: count }, () => this.#step++);
    await this.commit(numbers.flatMap(stepEvents), { results: numbers.map(resultOf) });
  }
}

function resultOf(step: number) {
  const hex = Buffer.from(String(step * 7_919)).toString("hex");
  return { step: `step-${step}`, fingerprint: `f1_${hex.padStart(64, hex)}`, model: null };
}
