import { formatDuration } from "../../../../core/kit/duration.ts";
import type { PageDecision } from "../../views/document.ts";
import { usd } from "./format.ts";

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
