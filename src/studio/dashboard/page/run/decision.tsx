import { useState } from "preact/hooks";
import type { PageStep } from "../../views/document.ts";
import { postLater, runPath } from "../state/api.ts";
import { createStore, useStore } from "../state/store.ts";
import { Button } from "../ui/bits.tsx";
import { pickText } from "../ui/takes.tsx";
import { ResumeDialog } from "./dialogs.tsx";

const UNDO_MS = 5000;

export interface Verdict {
  readonly said: string;
  /** The reason the server refused the decision. Null if it was not refused. */
  readonly error: string | null;
  readonly undo: (() => void) | null;
}

export const verdicts = createStore<ReadonlyMap<string, Verdict>>(new Map());

/** Returns a key for a step's decision. It includes the time the step started, because a rerun needs a new decision. */
export function decisionKey(runId: string, step: string, since: number | null): string {
  return `${runId}/${step}@${since}`;
}

function record(key: string, verdict: Verdict | null): void {
  verdicts.set((now) => {
    const next = new Map(now);
    next.delete(key);
    if (verdict !== null) next.set(key, verdict);
    return next;
  });
}

interface Draft {
  readonly chosen: number | null;
  readonly note: string;
  readonly value?: unknown;
}

function useDraft(key: string, initial: Draft): readonly [Draft, (change: Partial<Draft>) => void] {
  const name = `showrunner.draft.${key}`;
  const [, draw] = useState({});
  const read = () => JSON.parse(sessionStorage.getItem(name) ?? JSON.stringify(initial)) as Draft;
  const change = (changed: Partial<Draft>) => {
    sessionStorage.setItem(name, JSON.stringify({ ...read(), ...changed }));
    draw({});
  };
  return [read(), change];
}

export type Deciding = ReturnType<typeof useDecision>;

/**
 * State and actions of an open decision. The decision is sent after `UNDO_MS`, even if another screen is open by then.
 */
export function useDecision(
  runId: string,
  { path, decision, phase, startedAt }: PageStep,
  onDecided: () => void = () => {},
) {
  const { shows, choose: isChoice } = decision!;
  const key = decisionKey(runId, path, startedAt);
  const [{ chosen, note, value }, change] = useDraft(key, { chosen: shows.length === 1 ? 0 : null, note: "" });
  const [isSure, askSure] = useState(false);
  const [isRedoOpen, openRedo] = useState(false);
  const verdict = useStore(verdicts).get(key) ?? null;
  const post = (which: "approve" | "reject", said: string, fields: object) => {
    askSure(false);
    const held = postLater(`${runPath(runId)}/${which}`, { step: path, note, ...fields }, UNDO_MS, (failure) =>
      record(key, { said, error: failure?.message ?? null, undo: null }),
    );
    const undo = () => {
      held.undo();
      record(key, null);
    };
    record(key, { said, error: null, undo });
    onDecided();
  };
  const isOpen = phase === "approval" && (verdict === null || verdict.error !== null);
  return {
    chosen,
    choose: (index: number | null) => change({ chosen: index }),
    note,
    setNote: (text: string) => change({ note: text }),
    changed: value,
    change: (to: unknown) => change({ value: to }),
    sent: verdict?.error === null ? verdict.said : null,
    error: verdict?.error ?? null,
    canApprove: isOpen && (!isChoice || chosen !== null),
    canReject: isOpen,
    isSure,
    askSure,
    isRedoOpen,
    openRedo,
    /** Approves the step. With `goOn`, also resumes the run if no process is executing it. */
    approve: (goOn: boolean) =>
      isChoice && chosen !== null
        ? post("approve", `Take ${chosen + 1} approved.`, { goOn, pick: chosen })
        : post("approve", value === undefined ? "Approved." : "Approved with changes.", { goOn, value }),
    reject: (goOn: boolean) => post("reject", "Rejected.", { goOn }),
    undo: verdict?.undo ?? null,
  };
}

interface ButtonsProps {
  readonly runId: string;
  readonly step: PageStep;
  readonly deciding: Deciding;
  readonly goOn: boolean;
  readonly onRedone?: () => void;
}

/** Buttons that approve or reject a step. A rejection needs confirmation, because dependent steps will not run. */
export function DecisionButtons({ runId, step, deciding, goOn, onRedone }: ButtonsProps) {
  const { chosen, note, canApprove, canReject, isSure, askSure, isRedoOpen, openRedo } = deciding;
  const { choose: isChoice } = step.decision!;
  if (isSure && canReject) {
    return (
      <div class="actions">
        <span>Steps that need this one will not run.</span>
        <Button label="Cancel" onClick={() => askSure(false)} />
        <Button label="Reject for good" look="danger" onClick={() => deciding.reject(goOn)} />
      </div>
    );
  }
  if (deciding.undo !== null) {
    return (
      <div class="actions">
        <Button label="Undo" onClick={deciding.undo} />
      </div>
    );
  }
  const approval = isChoice ? pickText(chosen) : deciding.changed === undefined ? "Approve" : "Approve with changes";
  return (
    <div class="actions">
      <Button label="Reject…" look="danger" disabled={!canReject} onClick={() => askSure(true)} />
      <Button
        label="Redo with note…"
        disabled={!canReject || note.trim() === ""}
        title="Generates the results again, following the note"
        onClick={() => openRedo(true)}
      />
      <Button label={approval} look="primary" disabled={!canApprove} onClick={() => deciding.approve(goOn)} />
      {isRedoOpen && (
        <ResumeDialog
          head={{ id: runId, title: null }}
          redo={{ step: step.path, note }}
          {...(onRedone !== undefined && { onResumed: onRedone })}
          onClose={() => openRedo(false)}
        />
      )}
    </div>
  );
}
