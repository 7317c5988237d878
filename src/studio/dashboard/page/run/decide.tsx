import { useState } from "preact/hooks";
import type { JobCandidate, PageDecision, PageStep } from "../../views/document.ts";
import { get, post, runPath } from "../state/api.ts";
import { useCanAct } from "../state/live.ts";
import { reviewHref } from "../state/router.ts";
import { Button, Link, NoteField, StepLink } from "../ui/bits.tsx";
import { usd } from "../ui/format.ts";
import { useLoaded } from "../ui/hooks.ts";
import { Player, useLightbox } from "../ui/media.tsx";
import { Comments, MadeBy, NotMade } from "../ui/takes.tsx";
import { DecisionButtons, useDecision } from "./decision.tsx";
import { ShownValue } from "./shown-value.tsx";

interface Props {
  readonly runId: string;
  readonly step: PageStep;
  readonly decision: PageDecision;
  /** Whether the run must be resumed before a decision takes effect. */
  readonly isParked: boolean;
  readonly onOpen: (step: string) => void;
}

export function Decide({ runId, step, decision, isParked, onOpen }: Props) {
  const { shows, values, choose: isChoice, message, approved, note, pick, compared, comments } = decision;
  const canAct = useCanAct();
  const isOpen = canAct && step.phase === "approval";
  const deciding = useDecision(runId, step);
  const { chosen, choose } = deciding;
  const [resumes, setResumes] = useState(true);
  const [enlarge, lightbox] = useLightbox(shows, (media) =>
    isChoice ? `Take ${shows.indexOf(media) + 1}` : media.step,
  );
  return (
    <section class="decide" aria-label="Decision">
      {message !== null && <p class="question">{message}</p>}
      {!isOpen && (approved !== null || pick !== null) && (
        <p class={approved === false ? "note bad" : "note good"}>
          {approved === false ? "Rejected" : pick === null ? "Approved" : `Take ${pick + 1} chosen`}
          {note !== null && `: ${note}`}
        </p>
      )}
      {values.map(({ step: from, value }) => (
        <ShownValue key={from} runId={runId} step={step} value={value} deciding={isOpen ? deciding : null} />
      ))}
      <ol class="takes">
        {shows.map((media, index) => (
          <li
            key={`${media.step} ${media.index}`}
            class={(isOpen ? chosen : pick) === index && isChoice ? "chosen" : ""}
          >
            <Player media={media} label={`Take ${index + 1}, from ${media.step}`} onEnlarge={() => enlarge(index)} />
            <div class="line">
              {isChoice && isOpen ? (
                <label>
                  <input type="radio" name="take" checked={chosen === index} onChange={() => choose(index)} /> Take{" "}
                  {index + 1}
                </label>
              ) : (
                <span>{isChoice ? `Take ${index + 1}` : ""}</span>
              )}
              <StepLink step={media.step} onOpen={onOpen} />
            </div>
            <MadeBy compared={compared} take={index} />
          </li>
        ))}
      </ol>
      <NotMade compared={compared} />
      <Comments comments={comments} />
      {isOpen && (
        <>
          <Link class="button" href={reviewHref({ run: runId, at: `${runId}/${step.path}` })}>
            {isChoice ? "Compare side by side" : "Review at full size"}
          </Link>
          <NoteField label="Note (optional)" value={deciding.note} onText={deciding.setNote} />
          {isParked && (
            <label>
              <input type="checkbox" checked={resumes} onChange={() => setResumes(!resumes)} /> Resume the run at once
            </label>
          )}
          <DecisionButtons runId={runId} step={step} deciding={deciding} goOn={resumes} />
          <p role="status" class={deciding.error === null ? "quiet" : "note bad"}>
            {deciding.error ?? deciding.sent ?? ""}
          </p>
        </>
      )}
      {lightbox}
    </section>
  );
}

const matches: Readonly<Record<JobCandidate["match"], string>> = {
  key: "Same idempotency key.",
  prompt: "Same prompt:",
  possible: "This job has no prompt to compare.",
  unlike: "Different prompt:",
};

export function Resolve({ runId, step }: { readonly runId: string; readonly step: PageStep }) {
  const { isOfProvider } = step;
  const query = `${runPath(runId)}/candidates?step=${encodeURIComponent(step.path)}`;
  const found = useLoaded((signal) => get<readonly JobCandidate[]>(query, signal), [query]);
  const [said, say] = useState<string | null>(null);
  const adopt = async (jobId: string | null) => {
    try {
      await post(`${runPath(runId)}/adopt`, { step: step.path, jobId });
      say("Recorded. This takes effect when the run is resumed.");
    } catch (error) {
      say((error as Error).message);
    }
  };
  const canAct = useCanAct();
  const empty = isOfProvider
    ? "If the provider generated a file, adopt it on the command line. Otherwise the step fails, and the money reserved for it is released."
    : "The service lists no job from that time. If you say that no job was created but one exists, you could lose a job that you paid for.";
  const none = isOfProvider ? "No file was generated" : "No job was created";
  return (
    <section class="decide" aria-label="Outcome of the request">
      {found.state === "loading" && <p class="quiet">Asking the service…</p>}
      {found.state === "failed" && <p class="note bad">{found.error.message}</p>}
      {found.state === "ready" && (
        <ul class="attempts">
          {found.value.map(({ jobId, status, createdAt, prompt, match, costMicros }) => (
            <li key={jobId}>
              <span>
                <code>{jobId}</code> {status} {costMicros !== null && usd(costMicros)} {createdAt}
                <br />
                <b>{matches[match]}</b> {prompt}
              </span>
              <Button label="Use this job" look="small" disabled={!canAct} onClick={() => adopt(jobId)} />
            </li>
          ))}
          <li>
            <span>{found.value.length === 0 ? empty : "None of them"}</span>
            <Button label={none} look="small" disabled={!canAct} onClick={() => adopt(null)} />
          </li>
        </ul>
      )}
      <p role="status" class="quiet">
        {said}
      </p>
    </section>
  );
}
