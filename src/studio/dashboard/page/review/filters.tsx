import type { ReviewQueue } from "../../views/review-wire.ts";
import { go, type Route, reviewHref } from "../state/router.ts";

export type ReviewRoute = Extract<Route, { readonly screen: "review" }>;

interface FiltersProps {
  readonly route: ReviewRoute;
  readonly queue: ReviewQueue;
}

/** What of the queue is looked at; kept in the address. */
export function Filters({ route, queue: { pipelines, tags } }: FiltersProps) {
  const { search, run, pipeline, tag } = route;
  const filter = (wanted: Partial<ReviewRoute>) => go(reviewHref({ ...route, ...wanted }), "replace");
  return (
    <>
      <input
        type="search"
        placeholder="Search titles, tags and inputs"
        aria-label="Search titles, tags and inputs of runs"
        value={search}
        onInput={(event) => filter({ search: event.currentTarget.value })}
      />
      {run !== null && (
        <button type="button" class="chip" aria-pressed="true" onClick={() => filter({ run: null })}>
          only {run} <span aria-hidden="true">×</span>
        </button>
      )}
      <Choice name="Pipeline" value={pipeline} of={pipelines} onChoose={(chosen) => filter({ pipeline: chosen })} />
      <Choice name="Tag" value={tag} of={tags} onChoose={(chosen) => filter({ tag: chosen })} />
    </>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly value: string | null;
  readonly of: ReviewQueue["tags"];
  readonly onChoose: (value: string | null) => void;
}

function Choice({ name, value, of, onChoose }: ChoiceProps) {
  if (of.length === 0 || (of.length === 1 && value === null)) return null;
  return (
    <select aria-label={name} value={value ?? ""} onChange={(event) => onChoose(event.currentTarget.value || null)}>
      <option value="">Every {name.toLowerCase()}</option>
      {value !== null && !of.some((one) => one.name === value) && <option value={value}>{value} (0)</option>}
      {of.map((one) => (
        <option key={one.name} value={one.name}>
          {one.name} ({one.count})
        </option>
      ))}
    </select>
  );
}
