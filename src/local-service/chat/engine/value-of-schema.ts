import { isRecord } from "../../json.ts";
import type { Chance, Prose, Topic } from "./prose.ts";
import {
  flattener,
  listOf,
  merged,
  numberOf,
  recordOf,
  type SchemaNode,
  SchemaTooLarge,
  typeOf,
} from "./schema-node.ts";
import { stringValue } from "./string-value.ts";

const LARGEST = Number.MAX_SAFE_INTEGER;

interface NumberWish {
  readonly schema: SchemaNode;
  readonly name: string;
  readonly index: number;
  readonly isWhole: boolean;
}

/** Plausible value for a number of that name. */
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

/** A number that fits the schema, near the plausible value for its name. */
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

/** The nearest multiple within the bounds; decimal steps keep their digits. */
function onStep(value: number, step: number, least: number, most: number): number {
  const count = Math.min(Math.floor(most / step), Math.max(Math.ceil(least / step), Math.round(value / step)));
  const digits = Math.min(10, (String(step).split(".")[1] ?? "").length);
  return Number((count * step).toFixed(digits));
}

/** Optional values are omitted below this depth, so that recursive schemas terminate. */
const DEEP = 5;
const DEEPEST = 100;
const MOST_VALUES = 5_000;
const USUAL_ITEMS = 3;
const MOST_ITEMS = 50;
const UNIQUE_TRIES = 50;

export interface ValuePorts {
  readonly topic: Topic;
  readonly prose: Prose;
  readonly chance: Chance;
  /** Incremented until a value fits the whole schema; each number selects other choices. */
  readonly attempt: number;
}

interface Position {
  readonly name: string;
  readonly index: number;
  readonly depth: number;
}

/** Generates a value from a schema. The caller must validate it: not every keyword is supported. */
export function valueOfSchema(root: SchemaNode, ports: ValuePorts): unknown {
  const { topic, prose, chance, attempt } = ports;
  const onlyRequired = attempt % 2 === 1;
  const branch = Math.floor(attempt / 2);
  const flat = flattener(root, branch);
  let generated = 0;

  function fromList(options: readonly unknown[], index: number): unknown {
    const named = options.find(
      (option) => typeof option === "string" && option.length > 1 && topic.text.includes(option),
    );
    return index === 0 && named !== undefined ? named : options[(index + branch) % options.length];
  }

  function object(schema: SchemaNode, position: Position): unknown {
    const properties = recordOf(schema["properties"]);
    const required = new Set(listOf(schema["required"]));
    const leaveOut = onlyRequired || position.depth >= DEEP;
    const names = Object.keys(properties).filter((name) => required.has(name) || !leaveOut);
    const all = new Set([...names, ...required].filter((name) => typeof name === "string"));
    const extra = schema["additionalProperties"];
    for (let n = 1; all.size < (numberOf(schema["minProperties"]) ?? 0); n++) all.add(`${prose.word(n)}_${n}`);
    const entries = [...all].map((name) => {
      const index = position.index;
      return [name, value(properties[name] ?? extra ?? true, { name, index, depth: position.depth + 1 })] as const;
    });
    return Object.fromEntries(entries);
  }

  function lengthOf(schema: SchemaNode, position: Position): number {
    const least = numberOf(schema["minItems"]) ?? 0;
    if (least > MOST_VALUES) throw new SchemaTooLarge(`The schema asks for ${least} items.`);
    const most = numberOf(schema["maxItems"]) ?? Math.max(least, MOST_ITEMS);
    const usual = position.depth > 1 ? USUAL_ITEMS : (topic.anyCount ?? USUAL_ITEMS);
    const wanted = position.depth >= DEEP || onlyRequired ? least : (topic.countOf(position.name) ?? usual);
    return Math.min(most, Math.max(least, wanted));
  }

  function array(schema: SchemaNode, position: Position): unknown {
    const first = listOf(schema["prefixItems"]);
    const items: unknown[] = [];
    const isUnique = schema["uniqueItems"] === true;
    const length = Math.max(
      lengthOf(schema, position),
      Math.min(first.length, numberOf(schema["maxItems"]) ?? first.length),
    );
    const rest = schema["items"] ?? true;
    for (let index = 0; index < length; index++) {
      const isFirst = index === 0 && schema["contains"] !== undefined;
      const own =
        isFirst && isRecord(rest) ? merged(rest, recordOf(schema["contains"])) : isFirst ? schema["contains"] : rest;
      if (index >= first.length && rest === false) break;
      const make = (at: number) =>
        value(first[index] ?? own, { name: position.name, index: at, depth: position.depth + 1 });
      items.push(isUnique ? unlike(items, make, index) : make(index));
    }
    return items;
  }

  function unlike(items: readonly unknown[], make: (index: number) => unknown, from: number): unknown {
    const known = new Set(items.map((item) => JSON.stringify(item)));
    for (let index = from; index < from + UNIQUE_TRIES; index++) {
      const item = make(index);
      if (!known.has(JSON.stringify(item))) return item;
    }
    return make(from);
  }

  function value(node: unknown, position: Position): unknown {
    generated += 1;
    if (position.depth > DEEPEST) throw new SchemaTooLarge("The schema asks for a value within itself without end.");
    if (generated > MOST_VALUES) throw new SchemaTooLarge(`The schema asks for more than ${MOST_VALUES} values.`);
    if (!isRecord(node)) return prose.word(position.index);
    const schema = flat(node);
    if ("const" in schema) return schema["const"];
    const options = listOf(schema["enum"]);
    if (options.length > 0) return fromList(options, position.index);
    const wish = { schema, name: position.name, index: position.index };
    const type = typeOf(schema);
    switch (type) {
      case "object":
        return object(schema, position);
      case "array":
        return array(schema, position);
      case "number":
      case "integer":
        return numberValue({ ...wish, isWhole: type === "integer" }, topic);
      case "boolean":
        return (position.index + branch) % 2 === 0;
      case "null":
        return null;
      default:
        return stringValue(wish, prose, chance);
    }
  }

  return value(root, { name: "answer", index: 0, depth: 0 });
}
