import { useState } from "preact/hooks";
import type { PageComment } from "../../views/document.ts";
import { post, runPath } from "../state/api.ts";
import { Wrong } from "../ui/bits.tsx";
import { About } from "../ui/comments.tsx";

interface Props {
  readonly runId: string;
  readonly step: string;
  readonly takes: number;
  readonly timeOf: (take: number) => number | null;
  readonly onSaid: (comment: PageComment) => void;
}

export function RemarkForm({ runId, step, takes, timeOf, onSaid }: Props) {
  const [text, setText] = useState("");
  const [about, setAbout] = useState<number | null>(takes === 1 ? 0 : null);
  const [error, setError] = useState<string | null>(null);
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    const timeMs = about === null ? null : timeOf(about);
    setError(null);
    try {
      await post(`${runPath(runId)}/comment`, { step, text: text.trim(), take: about, timeMs });
      onSaid({ text: text.trim(), name: null, take: about, timeMs, at: Date.now() });
      setText("");
    } catch (failure) {
      setError((failure as Error).message);
    }
  };
  return (
    <form class="remark-form" onSubmit={send}>
      <label>
        <span class="unseen">Comment</span>
        <input
          id="comment"
          placeholder="Add a comment (records the playback position)"
          aria-keyshortcuts="C"
          maxLength={2000}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <About takes={takes} about={about} onChange={setAbout} />
      <button type="submit" class="button" disabled={text.trim() === ""}>
        Comment
      </button>
      <Wrong text={error} />
    </form>
  );
}
