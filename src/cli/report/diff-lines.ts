import type { FieldChange, PlanDiff } from "../../index.ts";
import { changeWindow } from "../text/change-window.ts";
import { visible } from "../text/escape.ts";

const MOST_STEPS = 20;
const MOST_FIELDS = 6;
/** Characters of a value. */
const LONGEST = 60;

/** What is different between two plans, a line each: `+` new, `-` gone, `~` changed, `>` renamed. */
export function diffLines(diff: PlanDiff): readonly string[] {
  const changed = diff.changed.flatMap(({ path, fields }) => [
    `~ ${visible(path)}`,
    ...fieldLines(fields).map((line) => `    ${line}`),
  ]);
  return [
    ...capped(diff.added, (path) => `+ ${visible(path)}`),
    ...capped(diff.removed, (path) => `- ${visible(path)}`),
    ...capped(diff.renamed, ({ from, to }) => `> ${visible(from)} is now ${visible(to)}`),
    ...changed.slice(0, MOST_STEPS * 4),
    ...(changed.length > MOST_STEPS * 4 ? [`… ${diff.changed.length} changed steps in all`] : []),
  ];
}

/** Fields that are not as they were, a line each. */
export function fieldLines(fields: readonly FieldChange[]): readonly string[] {
  const lines = fields.map(({ field, before, after }) => {
    return `${visible(field)}: ${changeWindow(value(before), value(after), LONGEST).join(" → ")}`;
  });
  return lines.length <= MOST_FIELDS
    ? lines
    : [...lines.slice(0, MOST_FIELDS), `… and ${lines.length - MOST_FIELDS} more fields`];
}

function capped<T>(items: readonly T[], line: (item: T) => string): readonly string[] {
  const lines = items.slice(0, MOST_STEPS).map(line);
  return items.length > MOST_STEPS ? [...lines, `… and ${items.length - MOST_STEPS} more`] : lines;
}

function value(json: unknown): string {
  return json === undefined ? "nothing" : visible(JSON.stringify(json));
}
