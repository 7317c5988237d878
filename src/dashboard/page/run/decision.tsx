import { useEffect, useRef, useState } from "preact/hooks";
import type { StepView } from "../../views/run-wire.ts";
import { post, postLater, runPath } from "../state/api.ts";

/** So long an approval can be taken back: what follows it is paid for. */
const UNDO_MS = 5000;

export interface Deciding {
  /** Position of the take that is chosen; null while none is. */
  readonly chosen: number | null;
  readonly choose: (index: number | null) => void;
  readonly note: string;
  readonly setNote: (text: string) => void;
  /** What became of it; null before it was sent. */
  readonly sent: string | null;
  readonly error: string | null;
  /** Whether it can be sent now. */
  readonly canApprove: boolean;
  readonly canReject: boolean;
  readonly approve: (goOn: boolean) => void;
  readonly reject: (goOn: boolean) => void;
  /** Takes the approval back; null where there is none, or it was sent. */
  readonly undo: (() => void) | null;
}

/** A person's decision on one step, until it is sent. */
export function useDecision(runId: string, { path, decision, phase }: StepView): Deciding {
  const { shows, choose: isChoice } = decision!;
  const [chosen, choose] = useState<number | null>(shows.length === 1 ? 0 : null);
  const [note, setNote] = useState("");
  const [sent, setSent] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const held = useRef<ReturnType<typeof postLater> | null>(null);
  const [isHeld, setHeld] = useState(false);
  useEffect(() => () => void held.current?.send(), []);
  const begin = (said: string) => {
    setError(null);
    setSent(said);
  };
  const ended = (failure: Error | null) => {
    held.current = null;
    setHeld(false);
    if (failure === null) return;
    setSent(null);
    setError(failure.message);
  };
  const approve = (goOn: boolean) => {
    begin(isChoice && chosen !== null ? `Take ${chosen + 1} approved.` : "Approved.");
    setHeld(true);
    const body = { step: path, note, goOn, ...(isChoice && { pick: chosen }) };
    held.current = postLater(`${runPath(runId)}/approve`, body, UNDO_MS, ended);
  };
  const undo = () => {
    held.current?.undo();
    ended(null);
    setSent(null);
  };
  const reject = (goOn: boolean) => {
    begin("Rejected.");
    void post(`${runPath(runId)}/reject`, { step: path, note, goOn }).then(() => ended(null), ended);
  };
  const isOpen = phase === "approval" && sent === null;
  return {
    chosen,
    choose,
    note,
    setNote,
    sent,
    error,
    canApprove: isOpen && (!isChoice || chosen !== null),
    canReject: isOpen,
    approve,
    reject,
    undo: isHeld ? undo : null,
  };
}

interface ButtonsProps {
  readonly deciding: Deciding;
  readonly isChoice: boolean;
  readonly goOn: boolean;
}

/** A rejection ends what needs the step, so it asks once. */
export function DecisionButtons({ deciding, isChoice, goOn }: ButtonsProps) {
  const [isSure, setSure] = useState(false);
  const { chosen, canApprove, canReject } = deciding;
  if (isSure && canReject) {
    return (
      <div class="actions">
        <span>What needs this step is not made then.</span>
        <button type="button" class="button" onClick={() => setSure(false)}>
          Keep it
        </button>
        <button type="button" class="button danger" onClick={() => deciding.reject(goOn)}>
          Reject for good
        </button>
      </div>
    );
  }
  if (deciding.undo !== null) {
    return (
      <div class="actions">
        <button type="button" class="button" onClick={deciding.undo}>
          Undo
        </button>
      </div>
    );
  }
  return (
    <div class="actions">
      <button type="button" class="button danger" disabled={!canReject} onClick={() => setSure(true)}>
        Reject…
      </button>
      <button type="button" class="button primary" disabled={!canApprove} onClick={() => deciding.approve(goOn)}>
        {!isChoice ? "Approve" : chosen === null ? "Pick a take" : `Approve take ${chosen + 1}`}
      </button>
    </div>
  );
}
