import { withoutJson } from "./json-in-text.ts";

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
const PLACES = [
  /["“«]([^"”»\n ]{1,60} [^"”»\n]{2,200})["”»]/u,
  /\b(?:about|(?:topic|subject|theme|story|film|video) is)\s+([^.!?\n]{3,200})/iu,
  /:[ \t\n]+([^\n:{[]{3,300})/u,
  /\b(?:of|for|on|featuring|showing|starring|describe|imagine)\s+((?:an?|the|my|our)?\s*[^.!?\n]{3,200})/iu,
];

function subjectOf(text: string): string {
  const found = PLACES.map((place) => place.exec(text)?.[1]).find((match) => match !== undefined) ?? text;
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
