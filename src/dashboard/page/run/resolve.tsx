import { useState } from "preact/hooks";
import type { CandidateView } from "../../views/wire.ts";
import { get, post, runPath } from "../state/api.ts";
import { usd } from "../ui/format.ts";
import { useLoaded } from "../ui/hooks.ts";

const matches: Readonly<Record<CandidateView["match"], string>> = {
  key: "Created under its own key.",
  prompt: "The same words:",
  possible: "No words to compare.",
  unlike: "Other words:",
};

/** Jobs that an unanswered submit may have made; a person says which it was. */
export function Resolve({ runId, step }: { readonly runId: string; readonly step: string }) {
  const query = `${runPath(runId)}/candidates?step=${encodeURIComponent(step)}`;
  const found = useLoaded((signal) => get<readonly CandidateView[]>(query, signal), [query]);
  const [said, say] = useState<string | null>(null);
  const adopt = async (jobId: string | null) => {
    try {
      await post(`${runPath(runId)}/adopt`, { step, jobId });
      say("Noted. Resume the run to go on with it.");
    } catch (error) {
      say((error as Error).message);
    }
  };
  return (
    <section class="decide" aria-label="Which job is it?">
      <p class="question">The submit got no answer, so it may or may not have made a paid job. Which one is it?</p>
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
              <button type="button" class="button small" onClick={() => adopt(jobId)}>
                This one
              </button>
            </li>
          ))}
          <li>
            <span>
              {found.value.length === 0
                ? "The service lists no job of that time. This is no proof: giving it up may give up a job that was paid for."
                : "None of them"}
            </span>
            <button type="button" class="button small" onClick={() => adopt(null)}>
              No job was made
            </button>
          </li>
        </ul>
      )}
      <p role="status" class="quiet">
        {said}
      </p>
    </section>
  );
}
