import type { CleanText } from "../../kit/clean-text.ts";
import { type Expected, formatDuration, slowText, stillText } from "../../kit/duration.ts";
import { decidedText, deciderText } from "../../kit/value-text.ts";
import { type Json, traitsOf } from "../../plan/plan.ts";
import { lastAttempt, type OutputState, planStep, type RunState } from "../state.ts";
import type { Chosen, Comment, DecidedBy, JournalError, OfAttempt, StepEnd, StoredCopy, TaskFile } from "./facts.ts";
import { detail, type EventTable, ignoredBy, line, type NoticeText } from "./spec.ts";

/** Events about steps, except those about paid requests. */
export type StepEvent =
  | { readonly type: "step.started"; readonly step: string }
  | {
      readonly type: "step.finished";
      readonly step: string;
      readonly status: StepEnd;
      readonly reason: string | null;
      /** True if a `when` condition skipped the step or a step that it needs. */
      readonly skippedByCondition?: true;
      /** The failure message that the pipeline's author wrote for callers of the pipeline. */
      readonly forCallers?: CleanText;
      /** True if the step was skipped because no step that needs it can succeed. */
      readonly pruned?: true;
      /** True if the run no longer waits for the step's request, which is still in progress. */
      readonly isGivenUp?: true;
    }
  /** The step's request is taking far longer than expected. */
  | ({ readonly type: "step.slow"; readonly elapsedMs: number; readonly expected: Expected } & OfAttempt)
  /** The request exceeded its time limit but is still in progress. `next` is the option that is tried instead. */
  | ({ readonly type: "step.overdue"; readonly withinMs: number; readonly next?: string } & OfAttempt)
  | ({ readonly type: "upload.stored"; readonly step: string } & StoredCopy)
  | {
      readonly type: "task.completed";
      readonly step: string;
      readonly value: Json;
      readonly files: readonly TaskFile[];
    }
  | { readonly type: "task.failed"; readonly step: string; readonly error: JournalError }
  | {
      readonly type: "approval.decided";
      readonly step: string;
      readonly approved: boolean;
      /** Index of the chosen result among those shown; null if there was nothing to choose. */
      readonly pick: number | null;
      readonly note: string | null;
      /** The value that the person approved instead of the value shown. */
      readonly value?: Json;
      /** Who decided, if known. */
      readonly by?: DecidedBy;
    }
  | { readonly type: "comment.added"; readonly step: string; readonly comment: Comment }
  /** A person's message about the step was refused. `message` says why. */
  | {
      readonly type: "message.refused";
      readonly step: string;
      readonly what: "approval" | "rejection" | "comment" | "adoption";
      readonly message: CleanText;
    }
  | {
      readonly type: "pick.decided";
      readonly step: string;
      readonly chosen: Chosen;
      /** Scores of the candidates, in order; null if nothing was scored. */
      readonly scores: readonly (number | null)[] | null;
    }
  /** A returned output was saved as a named file. `file` is relative to the run's `outDir`. */
  | {
      readonly type: "file.placed";
      readonly name: string;
      readonly step: string;
      readonly index: number;
      readonly file: string;
      /** Path of the file's manifest, relative to the run's `outDir`. */
      readonly manifest?: string;
    };

export const stepEvents: EventTable<StepEvent> = {
  "step.started": {
    apply: (fold, { step: path }) => {
      const step = fold.step(path);
      fold.moveStep(step);
      step.startedAt = fold.at;
    },
    changes: "step",
    timeline: (timeline, { step }) => timeline.start(step),
    notice: ({ step }, state) => waitNotice(state, step),
    ...ignoredBy("ledger", "media", "line", "incident"),
  },
  "step.finished": {
    apply: (
      fold,
      { step: path, status, reason, skippedByCondition = false, pruned = false, forCallers, isGivenUp },
    ) => {
      const step = fold.step(path);
      fold.moveStep(step, `step.${status}`);
      Object.assign(step, { reason, skippedByCondition, pruned, finishedAt: fold.at });
      if (isGivenUp) step.isGivenUp = true;
      if (forCallers === undefined) delete step.forCallers;
      else step.forCallers = forCallers;
    },
    changes: "step",
    timeline: (timeline, { step }) => timeline.finish(step),
    line: ({ status, reason }) => line(`${status}${reason ? `: ${reason}` : ""}`),
    ...ignoredBy("ledger", "media", "incident", "notice"),
  },
  "step.slow": {
    apply: (fold, event) => {
      fold.attempt(event).slow = event.expected;
    },
    changes: "step",
    line: ({ expected, elapsedMs }) => line(slowText(expected, elapsedMs)),
    notice: ({ step, expected, elapsedMs }, { runId, status, steps }) => {
      const message = `${step} ${slowText(expected, elapsedMs)}; ${stillText(lastAttempt(steps[step]!)?.jobId ?? null)}`;
      return { event: "run.slow", status, reason: null, message, step, next: `showrunner show ${runId}` };
    },
    ...ignoredBy("ledger", "media", "timeline", "incident"),
  },
  "step.overdue": {
    apply: (fold, event) => {
      const attempt = fold.attempt(event);
      attempt.overdueAt = fold.at;
      delete attempt.awaitedSince;
    },
    // Steps that wait for this step, or for the option that it belongs to, may continue.
    changes: "plan",
    line: (event) => line(overdueText(event)),
    incident: (event) => ({ what: "not finished in time", why: `The step ${overdueText(event)}.` }),
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "upload.stored": {
    apply: (fold, { step, sha256, sizeBytes, contentType }) => {
      fold.step(step).upload = { sha256, sizeBytes, contentType };
    },
    changes: "step",
    media: ({ sha256 }) => [sha256],
    line: ({ contentType, sizeBytes }) => line(`stored ${contentType}, ${sizeBytes} bytes`),
    ...ignoredBy("ledger", "timeline", "incident", "notice"),
  },
  "task.completed": {
    apply: (fold, { step: path, value, files }) => {
      const step = fold.step(path);
      step.value = value;
      step.outputs = files.map(({ name: _, sha256, sizeBytes, ...facts }): OutputState => {
        const contentType = facts.contentType ?? "application/octet-stream";
        return { ...facts, phase: "archived", copy: { sha256, sizeBytes, contentType } };
      });
    },
    changes: "step",
    media: ({ files }) => files.map(({ sha256 }) => sha256),
    timeline: (timeline, { step }) => timeline.close(step),
    line: ({ files }) => detail(`made ${files.length === 0 ? "a value" : files.map(({ name }) => name).join(", ")}`),
    ...ignoredBy("ledger", "incident", "notice"),
  },
  "task.failed": {
    apply: (fold, { step, error }) => {
      const attempt = fold.addAttempt(step, "try");
      fold.moveJob(attempt);
      Object.assign(attempt, { error, completedAt: fold.at });
    },
    changes: "step",
    line: ({ error }) => detail(`function failed: ${error.message}${siteText(error)}`),
    incident: ({ error }) => ({
      what: "local task failed",
      why: `${error.code}: ${error.message}${siteText(error)}`,
    }),
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "approval.decided": {
    apply: (fold, { step, approved, note, value, by }) => {
      // This decision replaces the choice and the value of any earlier decision.
      const approval = { approved, note: noteText(note), ...(by && { by }) };
      Object.assign(fold.step(step), { approval, chosen: null, value });
    },
    changes: "step",
    timeline: (timeline, { step }) => timeline.close(step),
    line: ({ pick, note, ...decided }) => {
      const choice = pick === null ? "" : `, take ${pick + 1}`;
      return line(`${decidedText(decided)}${choice}${note === null ? "" : `: ${note}`}`);
    },
    incident: ({ note, ...decided }) => ({ what: decidedText(decided), why: noteText(note) ?? "" }),
    ...ignoredBy("ledger", "media", "notice"),
  },
  "comment.added": {
    apply: (fold, { step: path, comment }) => {
      const step = fold.step(path);
      step.comments = [...(step.comments ?? []), comment];
    },
    changes: "step",
    line: ({ comment: { text, timeMs, by } }) => {
      const where = timeMs === null ? "" : ` at ${formatDuration(timeMs)}`;
      return line(`comment${by === null ? "" : ` ${deciderText(by)}`}${where}: ${text}`);
    },
    ...ignoredBy("ledger", "media", "timeline", "incident", "notice"),
  },
  "message.refused": {
    apply: () => {},
    changes: "step",
    line: ({ what, message }) => line(`${what} refused: ${message}`),
    incident: ({ what, message }) => ({ what: `${what} refused`, why: message }),
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "pick.decided": {
    apply: (fold, { step, chosen }) => {
      fold.step(step).chosen = chosen;
    },
    changes: "step",
    line: ({ chosen }) => line(`chose output ${chosen.index} of ${chosen.step}`),
    ...ignoredBy("ledger", "media", "timeline", "incident", "notice"),
  },
  "file.placed": {
    apply: ({ state }, { name, step, index, file, manifest = null }) => {
      const names = placedNames.get(state.files) ?? new Set(state.files.map((placed) => placed.name));
      if (names.has(name)) state.files = state.files.filter((placed) => placed.name !== name);
      names.add(name);
      state.files.push({ name, step, index, file, manifest });
      placedNames.set(state.files, names);
    },
    changes: "step",
    line: ({ name, file }) => line(`${name} saved as ${file}`),
    ...ignoredBy("ledger", "media", "timeline", "incident", "notice"),
  },
};

/** Converts a note to text, because earlier versions stored notes without checking their type. */
function noteText(note: string | null): string | null {
  return note === null ? null : String(note);
}

const placedNames = new WeakMap<RunState["files"], Set<string>>();

function waitNotice(state: RunState, path: string): NoticeText | null {
  const { decision } = traitsOf(planStep(state, path));
  if (decision === null || state.steps[path]!.approval !== null) return null;
  const asks = decision.message === null ? "" : `: ${decision.message}`;
  const message = `${path} is waiting for ${decision.choose ? "a choice" : "approval"}${asks}`;
  const next = `showrunner approve ${state.runId}   (lists the waiting steps and their contents)`;
  return { event: "run.waiting", status: "running", reason: "approval", message, step: path, next };
}

function siteText({ site }: JournalError): string {
  return site === undefined ? "" : ` (at ${site})`;
}

function overdueText({ withinMs, next }: { readonly withinMs: number; readonly next?: string }): string {
  const then = next === undefined ? "its request continues" : `its request continues, and ${next} starts`;
  return `did not finish within ${formatDuration(withinMs)}; ${then}`;
}
