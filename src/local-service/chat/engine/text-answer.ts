import type { Chance } from "./chance.ts";
import type { Prose } from "./prose.ts";
import type { Topic } from "./topic.ts";

type Writer = (topic: Topic, prose: Prose) => string;

const MOST_PARTS = 20;
const QUOTE = "[\"“'`]([^\"”'`\\n]{1,200})[\"”'`]";
const LITERAL = new RegExp(`\\b(?:reply|respond|answer|say|output|return)\\b[^.\\n"“'\`]{0,40}${QUOTE}`, "i");
const BARE_LITERAL =
  /\b(?:[Rr]eply|[Rr]espond|[Aa]nswer|[Ss]ay)\b(?:\s+(?:only|just|exactly|with|the|single|word))+:?\s+([A-Z][A-Z0-9]{0,20})\b/;
const CHOICE = /\b(?:one of|either|choose (?:from|between)|pick (?:from|between))\b:?\s+([^.\n]{3,300})/i;

const parts = (topic: Topic, usual: number) => Math.min(MOST_PARTS, topic.anyCount ?? usual);
const many = (count: number, write: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => write(index));

/** What the words of a request call for; the first that fits writes. */
const BY_REQUEST: readonly (readonly [RegExp, Writer])[] = [
  [
    /\b(?:shot|scene|story)\s?(?:list|board)s?\b|\bshots\b|\bscenes\b/i,
    (topic, prose) => many(parts(topic, 4), (index) => `${index + 1}. ${prose.visual(index)}`).join("\n"),
  ],
  [
    /\b(?:list|bullets?|ideas|steps|options|reasons|tips|names|titles)\b/i,
    (topic, prose) =>
      many(parts(topic, 3), (index) => `${index + 1}. ${prose.title(index)}: ${prose.sentence(index)}`).join("\n"),
  ],
  [/\b(?:title|headline|slogan|tagline|name for)\b/i, (_topic, prose) => prose.title(0)],
  [
    /\b(?:narration|voice-?over|script|monologue|speech|story|tell|dialogue|say)\b/i,
    (topic, prose) => many(parts(topic, 3), (index) => prose.spoken(index)).join(" "),
  ],
  [/\b(?:prompt|visual|scene|shot|image|picture|photo|video|describe)\b/i, (_topic, prose) => prose.visual(0)],
];

function literal(asked: string): string | null {
  return LITERAL.exec(asked)?.[1] ?? BARE_LITERAL.exec(asked)?.[1] ?? null;
}

function choice(asked: string, chance: Chance): string | null {
  const [first, ...rest] = (CHOICE.exec(asked)?.[1] ?? "")
    .split(/\s*,\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+/)
    .filter(Boolean);
  if (first === undefined || rest.length === 0) return null;
  return chance.pick([first, ...rest]).replaceAll(/^["'“]|["'”]$/g, "");
}

/** A short answer to what the user said last, made of the user's own words. */
export function textAnswer(asked: string, topic: Topic, prose: Prose, chance: Chance): string {
  const short = asked.slice(0, 20_000);
  const said = literal(short) ?? choice(short, chance);
  if (said !== null) return said;
  const writer = BY_REQUEST.find(([pattern]) => pattern.test(short))?.[1];
  return writer?.(topic, prose) ?? `${prose.sentence(0)} ${prose.sentence(1)}`;
}
