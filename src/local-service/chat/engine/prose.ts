import { createHash } from "node:crypto";
import { withoutJson } from "./schema-node.ts";

/** Random draws from a seed: equal requests get equal answers. */
export interface Chance {
  /** An integer from 0 to below `below`. */
  below(below: number): number;
  pick<T>(from: readonly [T, ...T[]]): T;
}

/** A small generator with 32 bits of state. */
export function chanceFrom(seed: string): Chance {
  let state = createHash("sha256").update(seed).digest().readUInt32LE(0);
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
  const below = (limit: number) => Math.floor(next() * limit);
  return { below, pick: (from) => from[below(from.length)] ?? from[0] };
}

/** What a request is about, extracted from its text. */
export interface Topic {
  /** The full text, for keyword lookups. */
  readonly text: string;
  /** A short noun phrase, such as `a fox who finds a lamp`. */
  readonly subject: string;
  /** Content words, in order, without duplicates. */
  readonly keywords: readonly [string, ...string[]];
  /** Requested number of something: `4 shots`, `three ideas`; null when not stated. */
  countOf(noun: string): number | null;
  /** The first number stated for anything. */
  readonly anyCount: number | null;
}

const STOP_WORDS = new Set(
  `a about above after again all also am an and any are as at be because been before being below between both but by can
  could did do does doing down during each every few for from further get give given had has have having he her here hers
  him his how i if in into is it its itself just let like make me more most must my no nor not of off on once one only or
  other our out over own please same she should so some such than that the their them then there these they this those
  through to too under until up use using very was we were what when where which while who whom why will with would you
  your return write create generate list json schema format answer reply respond output string number array object keys
  key fields field value values exactly short brief ideas idea shots shot scenes scene film
  video image picture prompt title narration script voice-over sentence sentences text describe plan topic improve word words
  tell explain please help two three four five six seven eight nine ten`.split(/\s+/),
);

const NUMBER_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const MAX_KEYWORDS = 32;
const MAX_SUBJECT_WORDS = 14;
/** Limit of the text searched for a subject. */
const MAX_READ = 20_000;
const LARGEST_COUNT = 100;

function keywordsOf(text: string): [string, ...string[]] {
  const words = text.toLowerCase().match(/[\p{L}][\p{L}\p{M}'’-]{2,24}/gu) ?? [];
  const [first = "scene", ...rest] = new Set(words.filter((word) => !STOP_WORDS.has(word)));
  return [first, ...rest.slice(0, MAX_KEYWORDS - 1)];
}

/** Patterns that find the subject, best first: a quotation of some words, then what follows certain words. */
const SUBJECT_PATTERNS = [
  /["“«]([^"”»\n ]{1,60} [^"”»\n]{2,200})["”»]/u,
  /\b(?:about|(?:topic|subject|theme|story|film|video) is)\s+([^.!?\n]{3,200})/iu,
  /:[ \t\n]+([^\n:{[]{3,300})/u,
  /\b(?:of|for|on|featuring|showing|starring|describe|imagine)\s+((?:an?|the|my|our)?\s*[^.!?\n]{3,200})/iu,
];

function subjectOf(text: string): string {
  const found = SUBJECT_PATTERNS.map((pattern) => pattern.exec(text)?.[1]).find((match) => match !== undefined) ?? text;
  const [clause = found] = found.split(/[.!?\n;]/u, 1);
  const plain = clause
    .trim()
    .replace(/^(?:\d+|an?|the|some|\w+)\s+(?:shots?|scenes?|ideas?|pictures?)\s+(?:of|about|for|on)\s+/iu, "");
  const words = plain.split(/\s+/u).slice(0, MAX_SUBJECT_WORDS);
  return words.join(" ").replaceAll(/^[\s,]+|[\s,.]+$/gu, "") || "the scene";
}

const stem = (word: string) => word.toLowerCase().replace(/(?:ies|es|s|y)$/u, "");

function countsOf(text: string): ReadonlyMap<string, number> {
  const pattern = new RegExp(`\\b(\\d{1,3}|${NUMBER_WORDS.join("|")})[ -]+(?:[a-z]+ +)?([a-z]+)`, "giu");
  const counts = new Map<string, number>();
  for (const [whole, amount = "", noun = ""] of text.matchAll(pattern)) {
    const count = /\d/.test(amount) ? Number(amount) : NUMBER_WORDS.indexOf(amount.toLowerCase());
    if (count < 1 || count > LARGEST_COUNT) continue;
    const between = whole.slice(amount.length, whole.length - noun.length).trim();
    for (const word of [noun, between]) if (word !== "" && !counts.has(stem(word))) counts.set(stem(word), count);
  }
  return counts;
}

/** Finds the subject in the user's last message, and words and counts in all messages. */
export function topicOf(requested: string, all: string): Topic {
  const text = all.slice(0, MAX_READ);
  const counts = countsOf(text);
  const plain = withoutJson(requested.slice(0, MAX_READ));
  const subject = subjectOf(plain);
  const units = new Set(["second", "sec", "minute", "word", "sentence", "m", "px", "character"]);
  const [anyCount = null] = [...counts].filter(([noun]) => !units.has(noun)).map(([, count]) => count);
  return {
    text,
    subject,
    keywords: keywordsOf(`${subject} ${plain}`),
    countOf: (noun) => counts.get(stem(noun)) ?? null,
    anyCount,
  };
}

/** Writes short texts about a topic; `index` varies the elements of a list. */
export interface Prose {
  /** A shot description. */
  visual(index: number): string;
  /** A narration line. */
  spoken(index: number): string;
  title(index: number): string;
  word(index: number): string;
  sentence(index: number): string;
}

const FRAMINGS = [
  "Wide establishing shot",
  "Medium shot",
  "Close-up",
  "Low-angle shot",
  "Slow tracking shot",
  "Over-the-shoulder view",
  "Aerial view",
  "Detail shot",
];
const LIGHTS = ["soft morning light", "golden hour glow", "cool moonlight", "warm lamplight", "bright overcast sky"];
const MOODS = ["calm mood", "quiet tension", "playful energy", "gentle wonder", "hopeful tone"];

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const at = (list: readonly string[], index: number) => list[index % list.length] ?? "";

export function proseAbout(topic: Topic, chance: Chance): Prose {
  const { subject, keywords } = topic;
  // Each answer starts every phrase list at a random offset, so that answers differ.
  const turn = { light: chance.below(LIGHTS.length), mood: chance.below(MOODS.length), line: chance.below(5) };
  const keyword = (index: number) => at(keywords, index);

  const lines = (index: number) => [
    `This is the story of ${subject}.`,
    `Look closer, and the ${keyword(index)} tells you more.`,
    `Then comes the moment of the ${keyword(index + 1)}, and everything turns.`,
    `Nobody expected what the ${keyword(index + 2)} would bring.`,
    `And so it ends as it began, with the ${keyword(index)}.`,
  ];

  const statements = (index: number) => [
    `${capital(subject)}: that is what this is about.`,
    `What matters most is the ${keyword(index)}.`,
    `The ${keyword(index)} and the ${keyword(index + 1)} belong together here.`,
    `Keep the ${keyword(index + 2)} simple and let the ${keyword(index)} lead.`,
  ];

  return {
    visual(index) {
      const light = at(LIGHTS, turn.light + index);
      const focus = index === 0 ? "" : `, the ${keyword(index)} in focus`;
      return `${at(FRAMINGS, index)} of ${subject}${focus}, ${light}, ${at(MOODS, turn.mood + index)}`;
    },
    spoken: (index) => at(lines(index), index === 0 ? 0 : turn.line + index),
    title: (index) => [...new Set([0, 1, 2].map((more) => keyword(index + more)))].map(capital).join(" "),
    word: (index) => keyword(index),
    sentence: (index) => at(statements(index), index),
  };
}
