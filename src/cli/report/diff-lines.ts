import type { FieldChange, PlanDiff } from "../../internal.ts";
import { visible } from "../text/escape.ts";

/** Characters that mark what was left out. */
const GAP = "…";

/** Two texts that differ, each cut to at most `width` characters around the first difference. */
export function changeWindow(before: string, after: string, width: number): readonly [string, string] {
  const [a, b] = [[...before], [...after]];
  let same = 0;
  while (same < Math.min(a.length, b.length) && a[same] === b[same]) same += 1;
  // A third of the room goes to what leads up to it.
  const from = Math.max(a.length, b.length) <= width ? 0 : Math.max(0, same - Math.floor(width / 3));
  return [cut(a, from, width), cut(b, from, width)];
}

function cut(text: readonly string[], from: number, width: number): string {
  const start = Math.max(0, Math.min(from, text.length - width + GAP.length));
  const head = start > 0 ? GAP : "";
  const room = width - head.length;
  const rest = text.slice(start);
  return rest.length <= room ? head + rest.join("") : `${head}${rest.slice(0, room - GAP.length).join("")}${GAP}`;
}

const MOST_STEPS = 20;
const MOST_FIELDS = 6;
/** Characters of a value. */
const LONGEST = 60;

/** The differences between two plans, a line each: `+` new, `-` removed, `~` changed, `>` renamed. */
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
