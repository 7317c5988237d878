import type { RunEvent, StoredEvent } from "../journal/events.ts";
import type { PlanStep } from "../plan/plan.ts";

/**
 * What a step was doing: `queue` is from the intent to submit until rendering starts, `render` until the job's end,
 * `download` until the last copy is on disk. The others are one span an attempt.
 */
export type TimelinePhase = "upload" | "queue" | "render" | "download" | "task" | "chat" | "approval";

/** A stretch of a run's time. Instants are epoch milliseconds. */
export interface TimelineSpan {
  readonly step: string;
  /** Counts from 1. */
  readonly attempt: number;
  readonly phase: TimelinePhase;
  readonly from: number;
  /** Null while it goes on, which is only while the run is running; never before `from`. */
  readonly to: number | null;
}

/**
 * When a run's steps did what, from its events alone, ordered by start. Phases of one attempt never overlap. A run that
 * rests has no open span: what it waited for ends with its last event, until a later one says more.
 */
export function timelineOf(events: Iterable<StoredEvent>): readonly TimelineSpan[] {
  const timeline = new Timeline();
  for (const { at, event } of events) timeline.see(at, event);
  return timeline.spans();
}

interface Span {
  readonly step: string;
  readonly attempt: number;
  readonly phase: TimelinePhase;
  readonly from: number;
  to: number | null;
}

/** An event as this file looks at it: kinds that it does not know are passed over. */
interface Seen {
  readonly type: string;
  readonly step?: unknown;
  readonly attempt?: unknown;
  readonly jobId?: unknown;
  readonly outputs?: unknown;
  readonly plan?: { readonly steps: readonly PlanStep[] };
  readonly steps?: unknown;
}

const localPhases: Readonly<Record<string, TimelinePhase>> = { upload: "upload", task: "task", approve: "approval" };

class Timeline {
  readonly #spans: Span[] = [];
  /** The open span of a step; a step does one thing at a time. */
  readonly #open = new Map<string, Span>();
  readonly #kinds = new Map<string, string>();
  readonly #starts = new Map<string, number>();
  readonly #acknowledged = new Map<string, number>();
  /** Steps whose outputs stay at the service. */
  readonly #uncopied = new Set<string>();
  /** Outputs still to be copied, by step. */
  readonly #toCopy = new Map<string, number>();
  #running = false;
  /** Clocks of two machines may differ: time here never goes back. */
  #now = Number.NEGATIVE_INFINITY;

  see(at: number, given: RunEvent): void {
    this.#now = Math.max(this.#now, at);
    const event: Seen = given;
    this.#run(event);
    const { step } = event;
    if (typeof step === "string") this.#step(step, event);
  }

  spans(): readonly TimelineSpan[] {
    return this.#spans.map((span) => ({ ...span, to: this.#endOf(span.to) })).sort((a, b) => a.from - b.from);
  }

  #endOf(to: number | null): number | null {
    return to === null && !this.#running ? this.#now : to;
  }

  #run(event: Seen): void {
    switch (event.type) {
      case "run.planned":
      case "run.replanned":
        this.#learn(event.plan?.steps ?? []);
        return;
      case "expand.planned":
        if (Array.isArray(event.steps)) this.#learn(event.steps as readonly PlanStep[]);
        return;
      case "run.started":
      case "run.resumed":
      case "run.reopened":
        this.#running = true;
        return;
      case "run.paused":
        this.#running = false;
        return;
      case "run.finished":
        this.#running = false;
        for (const step of this.#open.keys()) this.#close(step);
        return;
    }
  }

  #learn(steps: readonly PlanStep[]): void {
    for (const step of steps) {
      this.#kinds.set(step.path, step.kind);
      if (step.kind === "job" && !step.policy.keep) this.#uncopied.add(step.path);
    }
  }

  #step(step: string, event: Seen): void {
    const attempt = typeof event.attempt === "number" ? event.attempt : (this.#starts.get(step) ?? 1);
    switch (event.type) {
      case "step.started":
        return this.#started(step);
      case "step.finished":
        // Copies are still made when the step itself is through.
        if (this.#open.get(step)?.phase !== "download") this.#close(step);
        return;
      case "step.reset":
      case "step.reused":
      case "task.done":
      case "approval.decided":
      case "chat.answered":
      case "chat.failed":
      case "chat.abandoned":
      case "job.submit.refused":
      case "job.submit.withdrawn":
        return this.#close(step);
      case "chat.intended":
        return this.#begin(step, attempt, "chat");
      case "job.submit.intended":
        return this.#begin(step, attempt, "queue");
      case "job.submitted":
        this.#acknowledged.set(step, this.#now);
        if (this.#open.get(step)?.phase !== "queue") this.#begin(step, attempt, "queue");
        return;
      case "job.adopted":
        if (event.jobId === null) this.#close(step);
        return;
      case "job.started":
        return this.#begin(step, attempt, "render");
      case "job.failed":
        this.#splitUnseenRender(step);
        return this.#close(step);
      case "job.completed":
        this.#splitUnseenRender(step);
        return this.#completed(step, attempt, event.outputs);
      case "output.downloaded":
      case "output.expired":
        return this.#copied(step, attempt);
    }
  }

  #started(step: string): void {
    const count = (this.#starts.get(step) ?? 0) + 1;
    this.#starts.set(step, count);
    const phase = localPhases[this.#kinds.get(step) ?? ""];
    if (phase !== undefined) this.#begin(step, count, phase);
  }

  /** Nobody saw it start rendering: what lies between acknowledgement and end counts as rendering. */
  #splitUnseenRender(step: string): void {
    const open = this.#open.get(step);
    const since = this.#acknowledged.get(step);
    if (open?.phase !== "queue" || since === undefined) return;
    this.#close(step, since);
    this.#begin(step, open.attempt, "render", since);
  }

  #completed(step: string, attempt: number, outputs: unknown): void {
    this.#close(step);
    const count = Array.isArray(outputs) ? outputs.filter(isMedia).length : 0;
    if (count === 0 || this.#uncopied.has(step)) return;
    this.#toCopy.set(step, count);
    this.#begin(step, attempt, "download");
  }

  #copied(step: string, attempt: number): void {
    const left = (this.#toCopy.get(step) ?? 1) - 1;
    this.#toCopy.set(step, left);
    const open = this.#open.get(step);
    if (left <= 0 && open?.phase === "download" && open.attempt === attempt) this.#close(step);
  }

  #begin(step: string, attempt: number, phase: TimelinePhase, from = this.#now): void {
    this.#close(step);
    const span: Span = { step, attempt, phase, from, to: null };
    this.#spans.push(span);
    this.#open.set(step, span);
  }

  #close(step: string, at = this.#now): void {
    const span = this.#open.get(step);
    if (span === undefined) return;
    span.to = at;
    this.#open.delete(step);
  }
}

function isMedia(output: unknown): boolean {
  const { status, voiceId } = output as { readonly status?: unknown; readonly voiceId?: unknown };
  return status === "COMPLETED" && voiceId === null;
}
