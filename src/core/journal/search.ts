import { type Tags, tagTexts } from "../kit/tags.ts";
import type { Json } from "../plan/plan.ts";
import type { RunPlanned } from "./events.ts";

/** Selects the runs that match all fields that are set. */
export interface RunsQuery {
  /** Maximum number of runs to return. */
  readonly limit?: number | undefined;
  /** Only runs created before this time, in epoch milliseconds. */
  readonly before?: number | undefined;
  /** Only runs with all of these tags. */
  readonly tags?: Tags | undefined;
  /** Only runs that contain all of these words in id, title, pipeline, tags or input, ignoring case. */
  readonly search?: string | undefined;
}

const MOST_CHARACTERS = 8_000;
const MOST_WORDS = 10;

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

export function searchWords(search: string): readonly string[] {
  const words = comparable(search.slice(0, MOST_CHARACTERS)).split(/\s+/u);
  return [...new Set(words)].filter((word) => word !== "").slice(0, MOST_WORDS);
}

/** Prepares text for searching. Replaces null characters and lone surrogates, because PostgreSQL rejects them. */
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
