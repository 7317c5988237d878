import { numberOf, type SchemaNode } from "./schema-node.ts";
import type { Topic } from "./topic.ts";

const LARGEST = Number.MAX_SAFE_INTEGER;

interface NumberWish {
  readonly schema: SchemaNode;
  readonly name: string;
  readonly index: number;
  readonly isWhole: boolean;
}

/** What a number of that name is likely to be. */
function likely({ name, index, isWhole }: NumberWish, topic: Topic): number {
  const lower = name.toLowerCase();
  if (/_ms$|milli/.test(lower)) return 3000 + 1000 * (index % 3);
  if (/second|duration|length/.test(lower)) return 3 + (index % 3);
  if (/score|confidence|probab|strength|weight|scale|ratio|volume/.test(lower))
    return isWhole ? 1 + (index % 5) : 0.5 + 0.1 * (index % 5);
  if (/year/.test(lower)) return 2026;
  if (/count|total|num_|number_of/.test(lower)) return topic.anyCount ?? 3;
  return index + 1;
}

function bounds(schema: SchemaNode, step: number): readonly [number, number] {
  const above = numberOf(schema["exclusiveMinimum"]);
  const below = numberOf(schema["exclusiveMaximum"]);
  const least = Math.max(numberOf(schema["minimum"]) ?? -LARGEST, above === null ? -LARGEST : above + step);
  const most = Math.min(numberOf(schema["maximum"]) ?? LARGEST, below === null ? LARGEST : below - step);
  return [least, most];
}

/** A number that fits the schema, near what its name suggests. */
export function numberValue(wish: NumberWish, topic: Topic): number {
  const { schema, isWhole } = wish;
  const [above, below] = [
    numberOf(schema["exclusiveMinimum"]) ?? -LARGEST,
    numberOf(schema["exclusiveMaximum"]) ?? LARGEST,
  ];
  const fine = Math.min(0.001, (below - above) / 4);
  const multiple = numberOf(schema["multipleOf"]);
  const step = multiple ?? (isWhole ? 1 : fine);
  const [least, most] = bounds(schema, step);
  const value = Math.min(most, Math.max(least, likely(wish, topic)));
  if (multiple !== null && multiple > 0) return onStep(value, multiple, least, most);
  if (isWhole) return Math.min(Math.floor(most), Math.max(Math.ceil(least), Math.round(value)));
  return value;
}

/** The multiple nearest to a value within the bounds; decimal steps keep their digits. */
function onStep(value: number, step: number, least: number, most: number): number {
  const count = Math.min(Math.floor(most / step), Math.max(Math.ceil(least / step), Math.round(value / step)));
  const digits = Math.min(10, (String(step).split(".")[1] ?? "").length);
  return Number((count * step).toFixed(digits));
}
