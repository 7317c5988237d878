import { formatDuration } from "../../../../core/kit/duration.ts";
import type { PageComment, PageDecision } from "../../views/document.ts";
import { usd } from "./format.ts";

interface AboutProps {
  readonly takes: number;
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

export function pickText(chosen: number | null): string {
  return chosen === null ? "Pick a take" : `Approve take ${chosen + 1}`;
}

type Compared = PageDecision["compared"];
type Part = NonNullable<Compared>[number];

export function MadeBy({ compared, take }: { readonly compared: Compared; readonly take: number }) {
  const part = compared?.find(({ offered }) => offered.includes(take));
  return part === undefined ? null : <span class="quiet">{`${part.name}, ${factsOf(part)}`}</span>;
}

export function NotMade({ compared }: { readonly compared: Compared }) {
  const parts = compared?.filter(({ missing }) => missing !== null) ?? [];
  return parts.map((part) => (
    <p key={part.name} class="note ask">
      <strong>{part.name}</strong> produced nothing to choose ({factsOf(part)}): {part.missing}
    </p>
  ));
}

function factsOf({ models, costMicros, tookMs }: Part): string {
  const cost = costMicros === null ? "not billed" : usd(costMicros);
  return [...models, cost, ...(tookMs === null ? [] : [formatDuration(tookMs)])].join(", ");
}
