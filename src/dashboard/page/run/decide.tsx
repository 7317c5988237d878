import { useState } from "preact/hooks";
import type { DecisionView, StepView } from "../../views/wire.ts";
import { post, runPath } from "../state/api.ts";
import { Player } from "../ui/media.tsx";
import { Data } from "../ui/panel.tsx";

interface Props {
  readonly runId: string;
  readonly step: StepView;
  readonly decision: DecisionView;
  /** True when no process drives the run: a decision alone then changes nothing yet. */
  readonly isParked: boolean;
  readonly onOpen: (step: string) => void;
}

/** What is shown for a decision, and (while it is open) the decision itself. */
export function Decide({ runId, step, decision, isParked, onOpen }: Props) {
  const { shows, values, choose, message, approved, note, pick } = decision;
  const isOpen = step.phase === "approval";
  const [chosen, setChosen] = useState<number | null>(shows.length === 1 ? 0 : null);
  const [words, setWords] = useState("");
  const [goesOn, setGoesOn] = useState(true);
  const [state, setState] = useState<{
    readonly busy: boolean;
    readonly error: string | null;
    readonly sent: string | null;
  }>({ busy: false, error: null, sent: null });
  const isReady = !state.busy && state.sent === null;
  const decide = async (verb: "approve" | "reject") => {
    setState({ busy: true, error: null, sent: null });
    try {
      const body = {
        step: step.path,
        note: words,
        goOn: isParked && goesOn,
        ...(verb === "approve" && choose && { pick: chosen }),
      };
      await post(`${runPath(runId)}/${verb}`, body);
      setState({ busy: false, error: null, sent: verb === "approve" ? "Approved." : "Rejected." });
    } catch (error) {
      setState({ busy: false, error: (error as Error).message, sent: null });
    }
  };
  return (
    <section class="decide" aria-label="Decision">
      {message !== null && <p class="question">{message}</p>}
      {!isOpen && (approved !== null || pick !== null) && (
        <p class={approved === false ? "note bad" : "note good"}>
          {approved === false ? "Rejected" : pick === null ? "Approved" : `Take ${pick + 1} was chosen`}
          {note !== null && `: ${note}`}
        </p>
      )}
      {values.map(({ step: from, value }) => (
        <div key={from} class="read">
          <Data value={value} />
        </div>
      ))}
      <ol class="takes">
        {shows.map((media, index) => (
          <li key={`${media.step} ${media.index}`} class={(isOpen ? chosen : pick) === index && choose ? "chosen" : ""}>
            <Player media={media} label={`Take ${index + 1}, from ${media.step}`} />
            <div class="line">
              {choose && isOpen ? (
                <label>
                  <input type="radio" name="take" checked={chosen === index} onChange={() => setChosen(index)} /> Take{" "}
                  {index + 1}
                </label>
              ) : (
                <span>{choose ? `Take ${index + 1}` : ""}</span>
              )}
              <button type="button" class="link" onClick={() => onOpen(media.step)}>
                {media.step}
              </button>
            </div>
          </li>
        ))}
      </ol>
      {isOpen && (
        <>
          <label class="field">
            <span>Note (optional)</span>
            <textarea
              rows={2}
              maxLength={2000}
              value={words}
              onInput={(event) => setWords(event.currentTarget.value)}
            />
          </label>
          {isParked && (
            <label>
              <input type="checkbox" checked={goesOn} onChange={() => setGoesOn(!goesOn)} /> Go on with the run at once
            </label>
          )}
          <div class="actions">
            <button type="button" class="button danger" disabled={!isReady} onClick={() => decide("reject")}>
              Reject
            </button>
            <button
              type="button"
              class="button primary"
              disabled={!isReady || (choose && chosen === null)}
              onClick={() => decide("approve")}
            >
              {choose ? (chosen === null ? "Pick a take" : `Approve take ${chosen + 1}`) : "Approve"}
            </button>
          </div>
          <p role="status" class={state.error === null ? "quiet" : "note bad"}>
            {state.error ?? state.sent ?? ""}
          </p>
        </>
      )}
    </section>
  );
}
