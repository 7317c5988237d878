import type { Json } from "../plan/plan.ts";
import type { RunPlanned } from "./events.ts";
import { type Tags, tagTexts } from "./tags.ts";

/** Which runs are meant: those that are all of what is given. */
export interface RunsQuery {
  /** The newest ones. */
  readonly limit?: number | undefined;
  /** Made before this, epoch milliseconds. */
  readonly before?: number | undefined;
  /** Carry all of them. */
  readonly tags?: Tags | undefined;
  /** Hold all these words, in any case, in id, title, pipeline, tags or input. */
  readonly search?: string | undefined;
}

const MOST_CHARACTERS = 8_000;
const MOST_WORDS = 10;

/** What a run is found by, in lower case: its id, title, pipeline and tags, and the values of its input as far as they fit. */
export function searchText(runId: string, { plan, title = "", tags, input }: RunPlanned): string {
  const texts = [runId, title, plan.pipeline, ...tagTexts(tags)];
  let remaining = MOST_CHARACTERS - texts.join("\n").length;
  for (const text of valuesOf(input)) {
    if (remaining <= 0) break;
    texts.push(text.slice(0, remaining));
    remaining -= text.length + 1;
  }
  return comparable(texts.join("\n"));
}

/** A run is found if it has all of them. */
export function searchWords(search: string): readonly string[] {
  const words = comparable(search.slice(0, MOST_CHARACTERS)).split(/\s+/u);
  return [...new Set(words)].filter((word) => word !== "").slice(0, MOST_WORDS);
}

/** Also what PostgreSQL refuses in a text becomes one that it takes. */
function comparable(text: string): string {
  return text.toLowerCase().toWellFormed().replaceAll("\0", " ");
}

function* valuesOf(value: Json): Generator<string> {
  const rest: Json[] = [value];
  while (rest.length > 0) {
    const next = rest.pop()!;
    if (typeof next === "object" && next !== null) rest.push(...Object.values(next).reverse());
    else if (next !== null) yield String(next);
  }
}
