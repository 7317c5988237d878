import { useState } from "preact/hooks";
import type { StepView } from "../../views/run-wire.ts";
import { post, runPath } from "../state/api.ts";

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
  readonly approve: (goOn: boolean) => Promise<void>;
  readonly reject: (goOn: boolean) => Promise<void>;
}

/** A person's decision on one step, until it is sent. */
export function useDecision(runId: string, { path, decision, phase }: StepView): Deciding {
  const { shows, choose: isChoice } = decision!;
  const [chosen, choose] = useState<number | null>(shows.length === 1 ? 0 : null);
  const [note, setNote] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [sent, setSent] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const send = async (verb: "approve" | "reject", goOn: boolean) => {
    setBusy(true);
    setError(null);
    try {
      const pick = verb === "approve" && isChoice ? { pick: chosen } : {};
      await post(`${runPath(runId)}/${verb}`, { step: path, note, goOn, ...pick });
      setSent(verb === "approve" ? "Approved." : "Rejected.");
    } catch (failure) {
      setError((failure as Error).message);
    }
    setBusy(false);
  };
  const isOpen = phase === "approval" && !isBusy && sent === null;
  return {
    ...{ chosen, choose, note, setNote, sent, error },
    canApprove: isOpen && (!isChoice || chosen !== null),
    canReject: isOpen,
    approve: (goOn) => send("approve", goOn),
    reject: (goOn) => send("reject", goOn),
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
