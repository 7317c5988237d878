import type { Families } from "../../families/index.ts";
import type { JournalStore, Took } from "../../journal/store.ts";
import { traitsOf } from "../../plan/index.ts";
import type { PlanStep } from "../../plan/plan.ts";
import { type Work, workOf } from "../../plan/work.ts";

/** Durations that a model is judged by, the newest. */
const REMEMBERED = 60;
/** Like requests whose median says more than a line through all. */
const ENOUGH = 3;
/** Amounts of work count as the same within this factor. */
const SAME_AMOUNT = 1.1;
/** Newest durations of this process that say whether the service is slower or faster than it was. */
const RECENT = 8;

/** The journal is asked again for a model after so long, milliseconds: other processes add to it. */
const LOADED_FOR_MS = 60_000;

/** What decides how long a step is expected to take. */
interface Subject {
  /** Of the model, or of functions of one name. */
  readonly key: string;
  readonly model: string | null;
  readonly work: Work;
  /** Steps with equal text have equal expectations. */
  readonly text: string;
}

/** What is known of one model, or of functions of one name. */
interface Known {
  readonly past: readonly Took[];
  readonly loadedAt: number;
  /** Of this process, the newest first. */
  live: Took[];
  /** How many of them the current fit knows of. */
  fitted: number;
  seen: number;
  /** What the service said of jobs that have not finished yet, the newest first. */
  estimatesMs: number[];
  fit: ((work: Work) => number) | null;
}

export interface DurationParts {
  readonly store: Pick<JournalStore, "results">;
  /** Whose jobs count. */
  readonly account: string;
  readonly families: Families;
  readonly now: () => number;
}

/**
 * How long steps are expected to take, by what they ask for: from requests like them, else from a line through all
 * durations of the model, else from what the service says of its jobs in flight, its family, or its kind. What finishes in
 * this process counts at once, for every run of it.
 */
export class ExpectedDurations {
  /** Changes when expectations may be others than before. */
  version = 0;
  readonly #parts: DurationParts;
  readonly #known = new Map<string, Known>();
  readonly #subjects = new WeakMap<PlanStep, Subject>();

  constructor(parts: DurationParts) {
    this.#parts = parts;
  }

  /** Reads what the journal knows of the models of these steps. */
  async load(steps: readonly PlanStep[]): Promise<void> {
    const { store, account, now } = this.#parts;
    for (const model of new Set(steps.flatMap((step) => ("model" in step ? [step.model] : [])))) {
      const key = modelKey(model);
      const loadedAt = now();
      if (loadedAt < (this.#known.get(key) ?? nothing).loadedAt + LOADED_FOR_MS) continue;
      const rows = await store.results({ account, model }, REMEMBERED);
      const past = rows.flatMap(({ took }) => took ?? []);
      this.#known.set(key, { ...(this.#known.get(key) ?? nothing), past, loadedAt, fit: null });
      this.version++;
    }
  }

  expectedMs(step: PlanStep): number {
    const { key, model, work } = this.#subject(step);
    const known = this.#known.get(key);
    if (known !== undefined && known.past.length + known.live.length > 0) {
      known.fit ??= fitOf(known);
      return known.fit(work);
    }
    if (known !== undefined && known.estimatesMs.length > 0) return median(known.estimatesMs);
    return (model === null ? null : this.#parts.families.of(model)?.typicalMs) ?? traitsOf(step).typicalMs;
  }

  /** Null before its model has finished a job once. */
  knownMs(step: PlanStep): number | null {
    const known = this.#known.get(this.#subject(step).key);
    return known !== undefined && known.past.length + known.live.length > 0 ? this.expectedMs(step) : null;
  }

  /** Counts what a step took. Expectations follow at once in the beginning, later after some more. */
  learn(step: PlanStep, took: Took): void {
    const { key } = this.#subject(step);
    const known = this.#known.get(key) ?? { ...nothing };
    this.#known.set(key, known);
    if (known.live === nothing.live) known.live = [];
    known.live.unshift(took);
    if (known.live.length > REMEMBERED) known.live.pop();
    known.seen++;
    if (known.fit !== null && known.seen - known.fitted < Math.min(RECENT, 1 + known.fitted / 2)) return;
    known.fitted = known.seen;
    known.fit = null;
    this.version++;
  }

  /** Counts what the service expects of a job, for models that have not finished one yet. */
  estimate(step: PlanStep, ms: number): void {
    const { key } = this.#subject(step);
    const known = this.#known.get(key) ?? { ...nothing };
    if (known.past.length + known.live.length > 0) return;
    this.#known.set(key, { ...known, estimatesMs: [ms, ...known.estimatesMs].slice(0, RECENT) });
    if (known.estimatesMs.length === 0) this.version++;
  }

  /** Steps with equal text have equal expectations. */
  alike(step: PlanStep): string {
    return this.#subject(step).text;
  }

  #subject(step: PlanStep): Subject {
    const before = this.#subjects.get(step);
    if (before !== undefined) return before;
    const subject = subjectOf(step);
    this.#subjects.set(step, subject);
    return subject;
  }
}

const nothing: Known = {
  past: [],
  loadedAt: Number.NEGATIVE_INFINITY,
  live: [],
  fitted: 0,
  seen: 0,
  estimatesMs: [],
  fit: null,
};

function modelKey(model: string): string {
  return `model ${model}`;
}

/** Functions count as the same where their names differ in numbers only, as those of a list do. */
function subjectOf(step: PlanStep): Subject {
  const isModel = "model" in step;
  const key = isModel ? modelKey(step.model) : `${step.kind} ${step.path.replace(/\d+/g, "#")}`;
  const work = workOf(step);
  return { key, model: isModel ? step.model : null, work, text: `${key} ${work.amount} ${work.settings}` };
}

/** The expectation by the work, from at least one duration. */
function fitOf({ past, live }: Known): (work: Work) => number {
  const all = [...live, ...past].slice(0, REMEMBERED);
  const base = byWork(all);
  const recent = live.slice(0, RECENT).map((took) => took.ms / base(took));
  // A single one says little of all.
  const pace = recent.length === 0 ? 1 : median(recent) ** (recent.length / (recent.length + 1));
  const fitted = new Map<string, number>();
  return (work) => {
    const key = `${work.amount} ${work.settings}`;
    const ms = fitted.get(key) ?? base(work) * pace;
    fitted.set(key, ms);
    return ms;
  };
}

function byWork(all: readonly Took[]): (work: Work) => number {
  const lines = new Map<readonly Took[], Line | null>();
  const bySettings = Map.groupBy(all, ({ settings }) => settings);
  return ({ settings, amount }) => {
    const same = bySettings.get(settings) ?? [];
    const group = same.length >= ENOUGH ? same : all;
    if (amount === null) return median(group.map(({ ms }) => ms));
    const like = same.filter((took) => isSameAmount(took.amount, amount));
    if (like.length >= ENOUGH) return median(like.map(({ ms }) => ms));
    const line = lines.has(group) ? lines.get(group)! : lineThrough(group);
    lines.set(group, line);
    return line === null ? median(group.map(({ ms }) => ms)) : line.startMs + line.msEach * amount;
  };
}

interface Line {
  readonly startMs: number;
  readonly msEach: number;
}

/** The median of the slopes between all pairs: a few odd durations do not turn it. Null where all are of one amount. */
function lineThrough(all: readonly Took[]): Line | null {
  const slopes = all.flatMap((a, index) =>
    all
      .slice(index + 1)
      .flatMap((b) => (isSameAmount(a.amount, b.amount) ? [] : (a.ms - b.ms) / (a.amount - b.amount))),
  );
  if (slopes.length === 0) return null;
  const steepest = median(all.map(({ ms, amount }) => ms / amount));
  // Twice the work takes longer, and at most twice as long.
  const msEach = Math.min(Math.max(0, median(slopes)), steepest);
  return { startMs: Math.max(0, median(all.map(({ ms, amount }) => ms - msEach * amount))), msEach };
}

function isSameAmount(a: number, b: number): boolean {
  return Math.max(a, b) <= SAME_AMOUNT * Math.min(a, b);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}
