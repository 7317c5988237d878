import { formatDuration } from "../../../../core/kit/duration.ts";
import type { CommentView } from "../../views/document.ts";

/** What was said of what waits for a decision, oldest first. */
export function Comments({ comments }: { readonly comments: readonly CommentView[] }) {
  if (comments.length === 0) return null;
  return (
    <ul class="comments" aria-label="Comments">
      {comments.map(({ text, name, take, timeMs, at }) => (
        <li key={`${at} ${text}`}>
          <span class="quiet">
            {[
              name ?? "",
              take === null ? "" : `take ${take + 1}`,
              timeMs === null ? "" : `at ${formatDuration(timeMs)}`,
            ]
              .filter(Boolean)
              .join(", ")}
          </span>
          <p>{text}</p>
        </li>
      ))}
    </ul>
  );
}
