import { formatDuration } from "../../../../core/kit/duration.ts";
import type { PageComment } from "../../views/document.ts";

interface AboutProps {
  readonly takes: number;
  /** Null if the comment is about all takes. */
  readonly about: number | null;
  readonly onChange: (about: number | null) => void;
}

export function About({ takes, about, onChange }: AboutProps) {
  if (takes < 2) return null;
  return (
    <label>
      <span class="unseen">The comment is about</span>
      <select
        value={about ?? ""}
        onChange={({ currentTarget: { value } }) => onChange(value === "" ? null : Number(value))}
      >
        <option value="">About all</option>
        {Array.from({ length: takes }, (_, index) => (
          <option key={index} value={index}>
            About take {index + 1}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Comments({ comments }: { readonly comments: readonly PageComment[] }) {
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
