import { createHash } from "node:crypto";
import randexp from "randexp";
import type { Chance, Prose } from "./prose.ts";
import { numberOf, type SchemaNode, textOf } from "./schema-node.ts";

// The package is one CommonJS function; its types describe a default export that is not there at run time.
const RandExp = randexp as unknown as typeof randexp.default;

/** The repeat count generated for an unbounded quantifier of a pattern. */
const MAX_REPEAT = 8;
const PATTERN_TRIES = 20;
const LONGEST = 20_000;

export interface StringWish {
  readonly schema: SchemaNode;
  /** Name of the property, or of the array that contains the value. */
  readonly name: string;
  /** Position in the list. */
  readonly index: number;
}

const slug = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "") || "item";

function uuid(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const two = (value: number) => String(value).padStart(2, "0");

const FORMATS: Readonly<Record<string, (word: string, index: number) => string>> = {
  date: (_word, index) => `2026-01-${two(1 + (index % 28))}`,
  time: (_word, index) => `09:${two(index % 60)}:00Z`,
  "date-time": (_word, index) => `2026-01-${two(1 + (index % 28))}T09:00:00Z`,
  duration: (_word, index) => `PT${5 + index}S`,
  email: (word, index) => `${slug(word)}${index || ""}@example.com`,
  "idn-email": (word, index) => `${slug(word)}${index || ""}@example.com`,
  hostname: (word, index) => `${slug(word)}${index || ""}.example.com`,
  "idn-hostname": (word, index) => `${slug(word)}${index || ""}.example.com`,
  uri: (word, index) => `https://example.com/${slug(word)}${index ? `-${index}` : ""}`,
  "uri-reference": (word) => `/${slug(word)}`,
  iri: (word, index) => `https://example.com/${slug(word)}${index ? `-${index}` : ""}`,
  url: (word, index) => `https://example.com/${slug(word)}${index ? `-${index}` : ""}`,
  uuid: (word, index) => uuid(`${word}/${index}`),
  ipv4: (_word, index) => `192.0.2.${1 + (index % 250)}`,
  ipv6: (_word, index) => `2001:db8::${(1 + index).toString(16)}`,
  "json-pointer": (word) => `/${slug(word)}`,
  regex: () => "^.+$",
  byte: (word) => Buffer.from(word).toString("base64"),
};

const COLOURS = ["#1f6feb", "#f2a33a", "#2e8b57", "#b5432e", "#6d4aff"];

type Writer = (prose: Prose, index: number) => string;

/** Generators by property name; the first match is used. */
const BY_NAME: readonly (readonly [RegExp, Writer])[] = [
  [/(^|_)(id|slug|key|handle)$/, (prose, index) => `${slug(prose.word(index))}-${index + 1}`],
  [/aspect|ratio/, () => "16:9"],
  [/lang|locale/, () => "en"],
  [/colou?r/, (_prose, index) => COLOURS[index % COLOURS.length]!],
  [/url|link|href/, (prose, index) => `https://example.com/${slug(prose.word(index))}`],
  [/title|name|heading|headline|label|speaker|character|location|subject/, (prose, index) => prose.title(index)],
  [/keyword|tag|word|category|genre|mood|style|topic/, (prose, index) => prose.word(index)],
  [/narrat|dialog|line|script|speech|spoken|voice|caption|say|text|story|lyric/, (prose, index) => prose.spoken(index)],
  [
    /prompt|visual|scene|shot|image|video|frame|camera|descri|look|setting|action/,
    (prose, index) => prose.visual(index),
  ],
];

const singular = (name: string) => name.replace(/s$/, "");
const snake = (name: string) => name.replaceAll(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();

function byName(wish: StringWish, prose: Prose): string {
  const name = singular(snake(wish.name));
  const writer = BY_NAME.find(([pattern]) => pattern.test(name))?.[1];
  return writer?.(prose, wish.index) ?? prose.sentence(wish.index);
}

/** Shortens at a word boundary where possible, and pads where the text is too short. */
function fitted(text: string, least: number, most: number, more: (index: number) => string): string {
  let result = text;
  for (let index = 1; [...result].length < least; index++) result = `${result} ${more(index)}`;
  const characters = [...result];
  if (characters.length <= most) return result;
  const cut = characters.slice(0, most).join("");
  const atWord = cut.replace(/\s+\S*$/u, "").trim();
  return [...atWord].length >= Math.max(1, least) ? atWord : cut;
}

function byPattern(pattern: string, candidates: readonly string[], bounds: readonly [number, number], chance: Chance) {
  const expression = new RegExp(pattern, "u");
  const fits = (text: string) => {
    const { length } = [...text];
    return length >= bounds[0] && length <= bounds[1] && expression.test(text);
  };
  const known = candidates.find(fits);
  if (known !== undefined) return known;
  const maker = new RandExp(pattern);
  maker.max = MAX_REPEAT;
  maker.randInt = (from, to) => from + chance.below(to - from + 1);
  for (let tries = 0; tries < PATTERN_TRIES; tries++) {
    maker.max = MAX_REPEAT + tries * 4;
    const generated = maker.gen();
    if (fits(generated)) return generated;
  }
  return candidates[0] ?? "";
}

/** A text that fits the schema as far as its keywords are supported here. */
export function stringValue(wish: StringWish, prose: Prose, chance: Chance): string {
  const { schema, index } = wish;
  const format = FORMATS[textOf(schema["format"]) ?? ""];
  if (format) return format(prose.word(index), index);
  const least = Math.min(LONGEST, numberOf(schema["minLength"]) ?? 0);
  const most = Math.min(LONGEST, numberOf(schema["maxLength"]) ?? LONGEST);
  const sized = (text: string) => fitted(text, least, most, (more) => prose.sentence(index + more));
  const text = sized(byName(wish, prose));
  const pattern = textOf(schema["pattern"]);
  if (pattern === null) return text;
  const word = prose.word(index);
  const candidates = [
    text,
    sized(prose.title(index)),
    word,
    slug(word),
    `${slug(word)}-${index + 1}`,
    String(index + 1),
  ];
  return byPattern(pattern, candidates, [least, most], chance);
}
