import { type RunUpdate, RunView, type StepView } from "../../index.ts";

/** How far the job that counts is, where that is known. */
export interface StepProgress {
  /** 0 to 1. */
  readonly fraction: number | null;
  readonly etaAt: number | null;
}

const unknown: StepProgress = { fraction: null, etaAt: null };

/** A run as updates tell it: the view that its events make, and figures that are worth no event. */
export class LiveRun {
  #view: RunView | null = null;
  /** By step, with the stage it belongs to. */
  readonly #progress = new Map<string, StepProgress & { readonly of: string }>();

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
