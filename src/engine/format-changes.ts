import { type FieldChange, isReference } from "../plan/index.ts";
import type { Json } from "../plan/plan.ts";

const MOST = 3;
const LONGEST = 60;

/** Changes in words: `input.name was "a", is "b"; input.seed was left out, is 7`. */
export function formatChanges(fields: readonly FieldChange[]): string {
  const said = fields.slice(0, MOST).map(({ field, before, after }) => {
    if (isMedia(before) && isMedia(after)) return `${field} is another file`;
    return `${field} was ${say(before)}, is ${say(after)}`;
  });
  const more = fields.length - said.length;
  return [...said, ...(more > 0 ? [`${more} more`] : [])].join("; ");
}

function say(value: Json | undefined): string {
  if (value === undefined) return "left out";
  if (isReference(value)) return `the result of ${value.$ref.step}`;
  if (isMedia(value)) return "a file";
  const text = JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

function isMedia(value: Json | undefined): boolean {
  return typeof value === "object" && value !== null && "media" in value && Object.keys(value).length === 1;
}
