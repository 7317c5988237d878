import { useRef, useState } from "preact/hooks";
import { DAY_MS } from "../../../../core/kit/duration.ts";
import type { ReviewLinkView } from "../../views/shared-wire.ts";
import { get, post } from "../state/api.ts";
import { useCanAct } from "../state/live.ts";
import { dateTime } from "../ui/format.ts";
import { useLoaded } from "../ui/hooks.ts";
import { Dialog } from "../ui/panel.tsx";

const lives = [1, 7, 30, 90];

/** Opens what makes links on which clients decide, and ends them. */
export function ReviewLinksButton() {
  const canAct = useCanAct();
  const [isOpen, setOpen] = useState(false);
  if (!canAct) return null;
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen(true)}>
        Review links…
      </button>
      {isOpen && <ReviewLinks onClose={() => setOpen(false)} />}
    </>
  );
}

function ReviewLinks({ onClose }: { readonly onClose: () => void }) {
  const [tag, setTag] = useState("");
  const [days, setDays] = useState(7);
  const [url, setUrl] = useState<string | null>(null);
  const isMade = useRef(false);
  const create = async () => {
    const made = await post<{ readonly url: string }>("/api/review-links", {
      tags: [tag.trim()],
      expiresMs: days * DAY_MS,
    });
    isMade.current = true;
    setUrl(made.url);
  };
  if (url !== null) {
    return (
      <Dialog key="made" title="The link is made" action="Done" onAction={async () => {}} onClose={onClose}>
        <label class="field">
          <span>Send this address to the client</span>
          <input readOnly value={url} onFocus={(event) => event.currentTarget.select()} />
          <small>It is shown this once. Whoever has it can decide.</small>
        </label>
      </Dialog>
    );
  }
  return (
    <Dialog
      title="A link for a client"
      action="Make the link"
      ready={/^[^=]+=./.test(tag.trim())}
      onAction={create}
      onClose={() => isMade.current || onClose()}
    >
      <label class="field">
        <span>Runs with this tag</span>
        <input placeholder="client=acme" value={tag} onInput={(event) => setTag(event.currentTarget.value)} />
        <small>Shows what waits for a decision in them, and nothing else.</small>
      </label>
      <label class="field">
        <span>Valid for</span>
        <select value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
          {lives.map((life) => (
            <option key={life} value={life}>
              {life === 1 ? "1 day" : `${life} days`}
            </option>
          ))}
        </select>
      </label>
      <Active />
    </Dialog>
  );
}

/** The links that lead somewhere. */
function Active() {
  const [version, setVersion] = useState(0);
  const [error, setError] = useState<string | null>(null);
  const loaded = useLoaded((signal) => get<readonly ReviewLinkView[]>("/api/review-links", signal), [version]);
  const revoke = async (id: string) => {
    await post("/api/review-links/revoke", { id }).then(
      () => setVersion(version + 1),
      (failure: Error) => setError(failure.message),
    );
  };
  const active = loaded.state === "ready" ? loaded.value.filter(({ status }) => status === "active") : [];
  return (
    <>
      {error !== null && (
        <p class="note bad" role="alert">
          {error}
        </p>
      )}
      {active.length > 0 && (
        <ul class="attempts" aria-label="Links that are valid">
          {active.map(({ id, tags, runId, step, expiresAt }) => (
            <li key={id}>
              <span>
                {[...tags, runId, step].filter(Boolean).join(", ")}
                <br />
                <small>until {dateTime(expiresAt)}</small>
              </span>
              <button type="button" class="button small danger" onClick={() => revoke(id)}>
                Revoke
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
