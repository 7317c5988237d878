import { pick, type Random } from "../../render/random.ts";
import { withoutJson } from "./json-text.ts";

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
  `about above after again all also and any are been before being below between both but can could did does doing down
  during each every few for from further get give had has have having her here him his how into its itself just let like
  make more most must not off once one only other our out over own please same she should some such than that the their
  them then there these they this those through too under until use very was were what when where which while who whom why
  will with would you your return write create generate list json schema format answer reply respond output string number
  array object keys key fields field value values exactly short brief ideas idea shots shot scenes scene film video image
  picture prompt title narration script voice-over sentence sentences text describe plan topic improve word words tell
  explain help two three four five six seven eight nine ten`.split(/\s+/),
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
  /\b(?:of|for|on|featuring|showing|describe|imagine)\s+((?:an?|the|my|our)?\s*[^.!?\n]{3,200})/iu,
];

function subjectOf(text: string): string {
  const found = SUBJECT_PATTERNS.map((pattern) => pattern.exec(text)?.[1]).find((match) => match !== undefined) ?? text;
  const [clause = found] = found.split(/[.!?\n;]/u, 1);
  const plain = clause.trim().replace(/^\w+\s+(?:shots?|scenes?|ideas?|pictures?)\s+(?:of|about|for|on)\s+/iu, "");
  const words = plain.split(/\s+/u).slice(0, MAX_SUBJECT_WORDS);
  return words.join(" ").replaceAll(/^[\s,]+|[\s,.]+$/gu, "") || "the scene";
}

const stem = (word: string) => word.toLowerCase().replace(/(?:ies|es|s|y)$/u, "");

function countsOf(text: string): ReadonlyMap<string, number> {
  const pattern = new RegExp(`\\b(\\d{1,3}|${NUMBER_WORDS.join("|")})[ -]+(?:([a-z]+) +)?([a-z]+)`, "giu");
  const counts = new Map<string, number>();
  for (const [, amount = "", between = "", noun = ""] of text.matchAll(pattern)) {
    const count = /\d/.test(amount) ? Number(amount) : NUMBER_WORDS.indexOf(amount.toLowerCase());
    if (count < 1 || count > LARGEST_COUNT) continue;
    for (const word of [noun, between]) if (word !== "" && !counts.has(stem(word))) counts.set(stem(word), count);
  }
  return counts;
}

const UNITS = new Set(["second", "sec", "minute", "word", "sentence", "m", "px", "character"]);

/** Finds the subject in the user's last message, and words and counts in all messages. */
export function topicOf(requested: string, all: string): Topic {
  const text = all.slice(0, MAX_READ);
  const counts = countsOf(text);
  const plain = withoutJson(requested.slice(0, MAX_READ));
  const subject = subjectOf(plain);
  const [anyCount = null] = [...counts].filter(([noun]) => !UNITS.has(noun)).map(([, count]) => count);
  const keywords = keywordsOf(`${subject} ${plain}`);
  return { text, subject, keywords, countOf: (noun) => counts.get(stem(noun)) ?? null, anyCount };
}

/** Writes short texts about a topic; `index` varies the elements of a list. */
export interface Prose {
  /** A shot description. */
  visual(index: number): string;
  /** A plain sentence, fit to be spoken. */
  sentence(index: number): string;
  title(index: number): string;
  word(index: number): string;
}

const FRAMINGS = [
  "Wide shot",
  "Medium shot",
  "Close-up",
  "Low-angle shot",
  "Slow tracking shot",
  "Aerial view",
] as const;
const LIGHTS = ["soft morning light", "golden hour glow", "cool moonlight", "warm lamplight", "bright overcast sky"];

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const at = (list: readonly string[], index: number) => list[index % list.length] ?? "";

export function proseAbout({ subject, keywords }: Topic, random: Random): Prose {
  // Each answer starts its lists at a random place, so that answers differ.
  const turn = pick(random, [0, 1, 2, 3, 4]);
  const keyword = (index: number) => at(keywords, index);
  const sentences = (index: number) => [
    `Look closer, and the ${keyword(index)} tells you more.`,
    `Then comes the moment of the ${keyword(index + 1)}, and everything turns.`,
    `Nobody expected what the ${keyword(index + 2)} would bring.`,
    `The ${keyword(index)} and the ${keyword(index + 1)} belong together here.`,
    `And so it ends as it began, with the ${keyword(index)}.`,
  ];
  return {
    visual(index) {
      const focus = index === 0 ? "" : `, the ${keyword(index)} in focus`;
      return `${at(FRAMINGS, index)} of ${subject}${focus}, ${at(LIGHTS, turn + index)}`;
    },
    sentence: (index) => (index === 0 ? `This is the story of ${subject}.` : at(sentences(index), turn + index)),
    title: (index) => [...new Set([0, 1, 2].map((more) => keyword(index + more)))].map(capital).join(" "),
    word: keyword,
  };
}
