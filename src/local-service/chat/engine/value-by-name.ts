import type { SchemaNode } from "./json-text.ts";
import type { Prose, Topic } from "./prose.ts";

export const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null);

/** Where a value stands: the name of its property or list, and its position in the list. */
export interface Place {
  readonly name: string;
  readonly index: number;
}

/** The place that a JSON pointer names. */
export function placeOf(pointer: string): Place {
  const parts = pointer.split("/").slice(1);
  const isPosition = (part: string) => /^\d+$/.test(part);
  return { name: parts.findLast((part) => !isPosition(part)) ?? "", index: Number(parts.findLast(isPosition) ?? 0) };
}

type Write = (prose: Prose, index: number) => string;

const slug = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-") || "item";

/** Texts by words of a property's name; the first row with one of them writes. */
const TEXTS: readonly (readonly [words: string, Write])[] = [
  ["id slug key handle", (prose, index) => `${slug(prose.word(index))}-${index + 1}`],
  ["ratio", () => "16:9"],
  ["language lang locale", () => "en"],
  ["color colour", (_prose, index) => `#${["1f6feb", "f2a33a", "2e8b57", "b5432e"][index % 4]}`],
  ["url link href", (prose, index) => `https://example.com/${slug(prose.word(index))}`],
  ["title name heading headline label speaker character location subject", (prose, index) => prose.title(index)],
  ["keyword tag word category genre mood style topic", (prose, index) => prose.word(index)],
  [
    "narration narrator dialog dialogue line script speech spoken voice caption text story",
    (prose, index) => prose.sentence(index),
  ],
  [
    "prompt visual scene shot image video frame camera description look setting action",
    (prose, index) => prose.visual(index),
  ],
];

/** Words of a name: `shotList`, `shot_list` and `shots-list` have `shot` and `list`. */
function wordsOf(name: string): readonly string[] {
  const spaced = name.replaceAll(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return spaced.split(/[^a-z]+/).flatMap((word) => [word, word.replace(/s$/, "")]);
}

/** A text that suits the place and the lengths of the schema. */
export function likelyText(schema: SchemaNode, { name, index }: Place, prose: Prose): string {
  const words = new Set(wordsOf(name));
  const write = TEXTS.find(([known]) => known.split(" ").some((word) => words.has(word)))?.[1];
  const text = write?.(prose, index) ?? prose.sentence(index);
  return fitted(text, numberOf(schema["minLength"]) ?? 0, numberOf(schema["maxLength"]) ?? text.length, prose);
}

/** Cuts at a word where that is long enough, and repeats what is too short. */
function fitted(text: string, least: number, most: number, prose: Prose): string {
  let result = text;
  for (let index = 1; [...result].length < least; index++) result = `${result} ${prose.sentence(index)}`;
  const characters = [...result];
  if (characters.length <= Math.max(least, most)) return result;
  const cut = characters.slice(0, most).join("");
  const atWord = cut.replace(/\s+\S*$/u, "").trim();
  return [...atWord].length >= Math.max(1, least) ? atWord : cut;
}

/** A number that suits the place, or null where nothing is known of the name. */
export function likelyNumber({ name, index }: Place, topic: Topic): number | null {
  const words = new Set(wordsOf(name));
  const has = (...all: readonly string[]) => all.some((word) => words.has(word));
  if (has("ms", "millisecond")) return 3000 + 1000 * (index % 3);
  if (has("second", "duration", "length")) return 3 + (index % 3);
  if (has("year")) return 2026;
  if (has("count", "total", "number")) return topic.anyCount ?? 3;
  return has("index", "order", "shot", "scene") ? index + 1 : null;
}

/** The option of a list that the request names as a word of its own. */
export function namedOption(schema: SchemaNode, topic: Topic): string | undefined {
  const padded = ` ${topic.text.replaceAll(/[^\p{L}\p{N}:_-]+/gu, " ")} `;
  return [schema["enum"]].flat().find((option): option is string => {
    return typeof option === "string" && option.length > 1 && padded.includes(` ${option} `);
  });
}
