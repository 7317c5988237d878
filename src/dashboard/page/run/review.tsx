import { useState } from "preact/hooks";
import type { MediaView, StepView } from "../../views/run-wire.ts";
import { post, runPath } from "../state/api.ts";
import { Comments } from "../ui/comments.tsx";
import { count } from "../ui/format.ts";
import { Lightbox, Sheet } from "../ui/lightbox.tsx";
import { Player } from "../ui/media.tsx";
import { Data, Dialog } from "../ui/panel.tsx";
import { DecisionButtons, useDecision } from "./decision.tsx";

interface Props {
  readonly runId: string;
  /** Steps with a decision to make. */
  readonly steps: readonly StepView[];
  /** True when no process drives the run: then it is resumed with the decision. */
  readonly isParked: boolean;
  readonly onClose: () => void;
}

/** All open decisions of a run, one after the other, their takes side by side. */
export function Review({ runId, steps: open, isParked, onClose }: Props) {
  // Those that are decided leave the run's list; here they keep their places, so that nothing moves under the hand.
  const [steps] = useState(open);
  const [index, setIndex] = useState(0);
  const [isApprovingAll, setApprovingAll] = useState(false);
  const move = (by: number) => setIndex(Math.min(steps.length - 1, Math.max(0, index + by)));
  const left = open.filter(({ decision }) => decision?.choose === false);
  const approveAll = async () => {
    for (const [position, step] of left.entries()) {
      const goOn = isParked && position === left.length - 1;
      await post(`${runPath(runId)}/approve`, { step: step.path, note: "", goOn });
    }
    onClose();
  };
  const step = steps[index];
  if (step === undefined) return null;
  if (isApprovingAll) {
    return (
      <Dialog
        title={`Approve ${count(left.length, "step")}?`}
        action="Approve all"
        onAction={approveAll}
        onClose={() => setApprovingAll(false)}
      >
        <ul class="plain">
          {left.map(({ path }) => (
            <li key={path}>{path}</li>
          ))}
        </ul>
        <p class="quiet">Steps where one of several takes is picked stay open.</p>
      </Dialog>
    );
  }
  return (
    <OneReview
      key={step.path}
      runId={runId}
      step={open.find(({ path }) => path === step.path) ?? step}
      isParked={isParked}
      place={steps.length > 1 ? `${index + 1} of ${steps.length}` : null}
      onMove={move}
      onApproveAll={left.length > 1 ? () => setApprovingAll(true) : null}
      onClose={onClose}
    />
  );
}

interface OneProps {
  readonly runId: string;
  readonly step: StepView;
  readonly isParked: boolean;
  readonly place: string | null;
  readonly onMove: (by: number) => void;
  readonly onApproveAll: (() => void) | null;
  readonly onClose: () => void;
}

const MOST_KEYS = 9;

function OneReview({ runId, step, isParked, place, onMove, onApproveAll, onClose }: OneProps) {
  const { shows, values, choose: isChoice, message, comments } = step.decision!;
  const deciding = useDecision(runId, step);
  const [enlarged, enlarge] = useState<number | null>(null);
  const { chosen, choose, note, setNote, canApprove, sent, error } = deciding;
  const takes = isChoice ? shows.slice(0, MOST_KEYS) : [];
  const keys = {
    ArrowRight: () => onMove(1),
    ArrowLeft: () => onMove(-1),
    a: () => canApprove && deciding.approve(isParked),
    u: () => deciding.undo?.(),
    ...Object.fromEntries(takes.map((_, index) => [String(index + 1), () => choose(index)])),
  };
  const labelOf = (media: MediaView) => (isChoice ? `Take ${shows.indexOf(media) + 1}` : media.step);
  return (
    <Sheet
      title={message ?? step.path}
      keys={keys}
      onClose={onClose}
      aside={
        <>
          <span class="quiet">{step.path}</span>
          {place !== null && (
            <>
              <button type="button" class="button small" aria-keyshortcuts="ArrowLeft" onClick={() => onMove(-1)}>
                Previous
              </button>
              <span class="quiet">{place}</span>
              <button type="button" class="button small" aria-keyshortcuts="ArrowRight" onClick={() => onMove(1)}>
                Next
              </button>
            </>
          )}
          {onApproveAll !== null && (
            <button type="button" class="button small" onClick={onApproveAll}>
              Approve all…
            </button>
          )}
        </>
      }
      footer={
        <>
          <label class="note-field">
            <span class="unseen">Note (optional)</span>
            <input
              placeholder="Note (optional)"
              maxLength={2000}
              value={note}
              onInput={(event) => setNote(event.currentTarget.value)}
            />
          </label>
          <span role="status" class={error === null ? "quiet" : "note bad"}>
            {error ?? sent ?? (
              <span class="keys">
                {isChoice
                  ? "Keys: 1 to 9 pick, A approves, U undoes, arrows show the next"
                  : "Keys: A approves, U undoes, arrows show the next"}
              </span>
            )}
          </span>
          <DecisionButtons deciding={deciding} isChoice={isChoice} goOn={isParked} />
        </>
      }
    >
      <Comments comments={comments} />
      <ol class={shows.length > 4 ? "stage many" : "stage"}>
        {values.map(({ step: from, value }) => (
          <li key={from}>
            <div class="read">
              <Data value={value} />
            </div>
            <span class="quiet">{from}</span>
          </li>
        ))}
        {shows.map((media, index) => (
          <li key={`${media.step} ${media.index}`} class={isChoice && chosen === index ? "chosen" : ""}>
            <Player media={media} label={labelOf(media)} onEnlarge={() => enlarge(index)} />
            {isChoice && (
              <label>
                <input type="radio" name="reviewed" checked={chosen === index} onChange={() => choose(index)} /> Take{" "}
                {index + 1}
              </label>
            )}
          </li>
        ))}
      </ol>
      {enlarged !== null && <Lightbox media={shows} start={enlarged} labelOf={labelOf} onClose={() => enlarge(null)} />}
    </Sheet>
  );
}
