import type { TimelineWriter } from "../journal/events/spec.ts";
import { type OutputFacts, type StoredEvent, specOf } from "../journal/events.ts";
import { type PlanStep, traitsOf } from "../plan/plan.ts";
import { runKind } from "../run/kinds/index.ts";

/**
 * A phase of a step. `queue` ends when rendering starts, `render` when the job ends, and `download` when the last copy
 * is on disk.
 */
export type TimelinePhase = "upload" | "queue" | "render" | "download" | "task" | "chat" | "approval";

export interface TimelineSpan {
  readonly step: string;
  readonly attempt: number;
  readonly phase: TimelinePhase;
  readonly from: number;
  readonly to: number | null;
}

interface Span {
  readonly step: string;
  readonly attempt: number;
  readonly phase: TimelinePhase;
  readonly from: number;
  to: number | null;
}

export class Timeline implements TimelineWriter {
  readonly #spans: Span[] = [];
  readonly #open = new Map<string, Span>();
  readonly #kinds = new Map<string, PlanStep["kind"]>();
  readonly #starts = new Map<string, number>();
  readonly #acknowledged = new Map<string, number>();
  readonly #uncopied = new Set<string>();
  readonly #toCopy = new Map<string, number>();
  #running = false;
  /** Time of the latest event. It never decreases, even if the clocks of two machines differ. */
  #now = Number.NEGATIVE_INFINITY;

  add({ at, event }: StoredEvent): void {
    this.#now = Math.max(this.#now, at);
    specOf(event).timeline?.(this, event);
  }

  spans(): readonly TimelineSpan[] {
    return this.#spans.map((span) => ({ ...span, to: this.#endOf(span.to) })).sort((a, b) => a.from - b.from);
  }

  plan(steps: readonly PlanStep[]): void {
    for (const step of steps) {
      this.#kinds.set(step.path, step.kind);
      if (!traitsOf(step).keeps) this.#uncopied.add(step.path);
    }
  }

  work(isWorking: boolean): void {
    this.#running = isWorking;
  }

  end(): void {
    this.#running = false;
    for (const step of this.#open.keys()) this.close(step);
  }

  start(step: string): void {
    const count = (this.#starts.get(step) ?? 0) + 1;
    this.#starts.set(step, count);
    const kind = this.#kinds.get(step);
    const phase = kind === undefined ? null : runKind(kind).span;
    if (phase !== null) this.begin(step, count, phase);
  }

  acknowledge(step: string, attempt: number): void {
    this.#acknowledged.set(step, this.#now);
    if (this.#open.get(step)?.phase !== "queue") this.begin(step, attempt, "queue");
  }

  jobEnded(step: string, attempt: number, outputs: readonly OutputFacts[] | null): void {
    this.#splitUnseenRender(step);
    this.close(step);
    const count = outputs?.filter(isMedia).length ?? 0;
    if (count === 0 || this.#uncopied.has(step)) return;
    this.#toCopy.set(step, count);
    this.begin(step, attempt, "download");
  }

  copied(step: string, attempt: number): void {
    const remaining = (this.#toCopy.get(step) ?? 1) - 1;
    this.#toCopy.set(step, remaining);
    const open = this.#open.get(step);
    if (remaining <= 0 && open?.phase === "download" && open.attempt === attempt) this.close(step);
  }

  begin(step: string, attempt: number, phase: TimelinePhase, from = this.#now): void {
    this.close(step);
    const span: Span = { step, attempt, phase, from, to: null };
    this.#spans.push(span);
    this.#open.set(step, span);
  }

  close(step: string, at = this.#now): void {
    const span = this.#open.get(step);
    if (span === undefined) return;
    span.to = at;
    this.#open.delete(step);
  }

  finish(step: string): void {
    if (this.#open.get(step)?.phase !== "download") this.close(step);
  }

  #endOf(to: number | null): number | null {
    return to === null && !this.#running ? this.#now : to;
  }

  /**
   * Ends the queue span and begins the render span at the acknowledgment, because no event records the actual start of
   * rendering.
   */
  #splitUnseenRender(step: string): void {
    const open = this.#open.get(step);
    const since = this.#acknowledged.get(step);
    // An acknowledgment from before the queue span is from an earlier submission.
    if (open?.phase !== "queue" || since === undefined || since < open.from) return;
    this.close(step, since);
    this.begin(step, open.attempt, "render", since);
  }
}

function isMedia({ status, voiceId }: OutputFacts): boolean {
  return status === "COMPLETED" && voiceId === null;
}
