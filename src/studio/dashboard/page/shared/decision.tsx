import { useState } from "preact/hooks";
import type { SharedDecision, SharedTake } from "../../views/document.ts";
import { blankMedia } from "../../views/page-media.ts";
import { timeAt } from "../review/players.ts";
import { json, send } from "../state/api.ts";
import { Button, NoteField, Wrong } from "../ui/bits.tsx";
import { dateTime } from "../ui/format.ts";
import { Player } from "../ui/media.tsx";
import { Data } from "../ui/panel.tsx";
import { About, Comments, pickText } from "../ui/takes.tsx";

interface Props {
  readonly decision: SharedDecision;
  readonly name: string;
  readonly onDecided: (decision: SharedDecision) => void;
  readonly onRefused: () => void;
}

export function Decision({ decision, name, onDecided, onRefused }: Props) {
  const { ref, title, question, choose, takes, status } = decision;
  const [chosen, setChosen] = useState<number | null>(null);
  const isOpen = status === "waiting";
  const marked = isOpen ? chosen : decision.pick;
  return (
    <article class="verdict" aria-labelledby={ref}>
      <div>
        <h2 id={ref}>{question}</h2>
        <p class="quiet">{title}</p>
      </div>
      <ol class="shown">
        {takes.map((take, index) => (
          <li key={index} class={choose && marked === index ? "chosen" : ""}>
            <Shown take={take} label={choose ? `Take ${index + 1}` : question} />
            {choose && isOpen && (
              <label>
                <input type="radio" name={ref} checked={chosen === index} onChange={() => setChosen(index)} /> Take{" "}
                {index + 1}
              </label>
            )}
            {choose && !isOpen && <span>Take {index + 1}</span>}
          </li>
        ))}
      </ol>
      <Comments comments={decision.comments} />
      {isOpen ? (
        <Buttons decision={decision} chosen={chosen} name={name} onDecided={onDecided} onRefused={onRefused} />
      ) : (
        <Decided decision={decision} />
      )}
    </article>
  );
}

function Decided({ decision }: { readonly decision: SharedDecision }) {
  const { status, pick, name, note, decidedAt } = decision;
  const what = status === "rejected" ? "Rejected" : pick === null ? "Approved" : `Take ${pick + 1} approved`;
  return (
    <p role="status" class={status === "rejected" ? "note bad" : "note good"}>
      <strong>{what}</strong>
      {name !== null && ` by ${name}`}
      {decidedAt !== null && `, ${dateTime(decidedAt)}`}
      {note !== null && `: ${note}`}
    </p>
  );
}

interface ButtonsProps extends Props {
  readonly chosen: number | null;
}

/** Buttons for a decision. A rejection needs confirmation, because dependent steps will not run. */
function Buttons({ decision, chosen, name, onDecided, onRefused }: ButtonsProps) {
  const { ref, choose, takes } = decision;
  const [note, setNote] = useState("");
  const [about, setAbout] = useState<number | null>(takes.length === 1 ? 0 : null);
  const [isSure, setSure] = useState(false);
  const [isSending, setSending] = useState(false);
  const [said, say] = useState<string | null>(null);
  const send = async (path: "decide" | "comment", fields: object) => {
    if (name === "") return say("Enter your name first, at the top of the page.");
    setSending(true);
    say(null);
    try {
      onDecided(await ask<SharedDecision>(path, { ref, name, ...fields }));
      if (path === "comment") setNote("");
    } catch (error) {
      say((error as Error).message);
      onRefused();
    } finally {
      setSending(false);
    }
  };
  const decide = (approved: boolean) => send("decide", { approved, note, ...(choose && approved && { pick: chosen }) });
  const comment = () =>
    send("comment", { text: note, ...(about !== null && { take: about, timeMs: timeAt(shownAt(ref, about)) }) });
  return (
    <>
      <NoteField label="Note or comment (optional)" value={note} onText={setNote} />
      <div class="actions remark">
        <About takes={takes.length} about={about} onChange={setAbout} />
        <Button label="Comment only" disabled={isSending || note.trim() === ""} onClick={comment} />
      </div>
      <Wrong text={said} />
      {isSure ? (
        <div class="actions">
          <Button label="Cancel" disabled={isSending} onClick={() => setSure(false)} />
          <Button label="Reject for good" look="danger" disabled={isSending} onClick={() => decide(false)} />
        </div>
      ) : (
        <div class="actions">
          <Button label="Reject…" look="danger" disabled={isSending} onClick={() => setSure(true)} />
          <Button
            label={choose ? pickText(chosen) : "Approve"}
            look="primary"
            disabled={isSending || (choose && chosen === null)}
            onClick={() => decide(true)}
          />
        </div>
      )}
    </>
  );
}

function shownAt(ref: string, take: number): Element | undefined {
  return document.getElementById(ref)?.closest("article")?.querySelectorAll(".shown > li")[take];
}

function Shown({ take, label }: { readonly take: SharedTake; readonly label: string }) {
  if (take.kind === "text") {
    return (
      <div class="read">
        <Data value={take.value} />
      </div>
    );
  }
  return <Player media={{ ...blankMedia("", 0), ...take }} label={label} />;
}

/** Sends a request to the API, authorized by the link's token, which follows the `#` in the page's address. */
export function ask<T>(path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${location.hash.slice(1)}`, "content-type": "application/json" };
  const init = body === undefined ? {} : json(body);
  return send<T>(
    `/shared/api/${path}`,
    { ...init, headers },
    "The server cannot be reached. Check your connection; nothing was lost.",
  );
}
