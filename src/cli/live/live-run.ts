import { type RunUpdate, RunView, type StepView } from "../../internal.ts";

/** How far the job that counts is, where that is known. */
export interface StepProgress {
  /** 0 to 1. */
  readonly fraction: number | null;
  readonly etaAt: number | null;
}

const unknown: StepProgress = { fraction: null, etaAt: null };

/** What concerns all steps is computed again after so long where there are many of them, milliseconds. */
const KEPT_MS = 1_000;
const MANY_STEPS = 500;

/** A run as updates tell it: the view that its events make, and figures that are worth no event. */
export class LiveRun {
  #view: RunView | null = null;
  /** By step, with the stage it belongs to. */
  readonly #progress = new Map<string, StepProgress & { readonly of: string }>();

  readonly #kept = new Map<string, { readonly of: unknown; readonly at: number; readonly value: unknown }>();

  /**
   * What was computed of all steps a moment ago, for a run of many steps; `of`: what it was computed from, where that may
   * be another now.
   */
  kept<T>(what: string, of: unknown, now: number, compute: () => T): T {
    const before = this.#kept.get(what);
    const isMany = (this.#view?.state.planned.plan.steps.length ?? 0) >= MANY_STEPS;
    if (isMany && before !== undefined && before.of === of && Math.abs(now - before.at) < KEPT_MS)
      return before.value as T;
    const value = compute();
    this.#kept.set(what, { of, at: now, value });
    return value;
  }

  /** Null before the first event. */
  get view(): RunView | null {
    return this.#view;
  }

  add(update: RunUpdate): void {
    if (!("type" in update)) {
      if (this.#view === null) this.#view = RunView.of([update]);
      else this.#view.add(update);
      return;
    }
    const { step: path, fraction, estimatedCompletionAt: etaAt } = update;
    const step = this.#view?.step(path);
    if (step !== undefined) this.#progress.set(path, { fraction, etaAt, of: stage(step) });
  }

  /** A figure that comes late says nothing of what the step does by then. */
  progress(step: StepView): StepProgress {
    const said = this.#progress.get(step.path);
    return said === undefined || said.of !== stage(step) || step.finishedAt !== null ? unknown : said;
  }
}

/** A figure stands while a job waits at the service and is rendered; its download has one of its own. */
function stage({ phase, current }: StepView): string {
  return `${current?.n} ${phase === "queued" || phase === "rendering" ? "service" : phase}`;
}
