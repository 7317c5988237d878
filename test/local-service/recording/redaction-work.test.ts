import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createRedactor } from "../../../src/core/api/redactor.ts";
import { redactUrls } from "../../../src/core/kit/clean-text.ts";
import { Cleaner } from "../../../src/local-service/recording/cleaner.ts";
import { recordable } from "../../../src/local-service/recording/recorded-values.ts";
import { lineOf } from "../../../src/local-service/recording/recorder.ts";
import { isFull, sampled } from "../../support/sample.ts";
import { words } from "../../support/word-list.ts";

const KEY = "key_a1b2c3:s3cr3t-s3cr3t-s3cr3t";
/** What the expressions look for, in parts, and what they go through. */
const PARTS = [
  ...words("eyJ - _ . sk- ghp_ xoxb- AKIA basic key \\ % 1 : = QUJD a aaaaaaaa @ \" '"),
  ...words("https:// s3:// // / ? # [ C: .. é"),
  ...["Bearer ", " ", "\t", "\n", KEY.slice(0, 9)],
];
const part = fc.constantFrom(...PARTS);
const few = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));

const cleaner = new Cleaner(new Map());
cleaner.learnRequest({ authorization: `Key ${KEY}` });
const redactor = createRedactor(KEY);
const chat = (text: string) => ({
  ...{ method: "POST", path: "/chat/completions", sha256: null, status: 200, headers: {}, cut: false },
  ...{ body: JSON.stringify({ messages: [{ content: text }] }), answer: JSON.stringify({ content: text }) },
});
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  recordable,
  redactUrls,
  text: redactor.text,
  json: (text) => redactor.json(JSON.stringify({ text })),
  recorded: (text) => lineOf(chat(text), cleaner),
  frames: (text) => lineOf({ ...chat(""), headers: { "content-type": "text/event-stream" }, answer: text }, cleaner),
};

/** Work that begins anew at each character takes minutes to hours for this; what goes over it a few times, a blink. */
const HANG_MS = 20_000;
const ends = (work: () => unknown) => runInNewContext("work()", { work }, { timeout: HANG_MS });

test.each(Object.keys(readers))("%s goes over a long text a few times, whatever it repeats", (name) => {
  fc.assert(
    fc.property(fc.tuple(few, few, few), ([before, repeated, after]) => {
      const text = before + repeated.repeat(Math.ceil(300_000 / repeated.length)) + after;
      ends(() => readers[name]!(text));
    }),
    {
      numRuns: isFull ? 12 : 6,
      examples: [[["", "eyJ-", ""]], [["sk-", "a", ""]], [["Bearer ", "QUJD", '"']], [["key", " ", "@"]]],
    },
  );
});

test("a recorded body of the greatest size is no more than the expressions can hold", () => {
  for (const repeated of sampled(["sk-", "eyJ-", "QUJD", "Bearer a", "eyJaaaaaaaa."], 3)) {
    const text = `Bearer 1${repeated.repeat(Math.floor((16 * 1024 * 1024) / repeated.length))}`;
    expect(() => ends(() => recordable(text))).not.toThrow();
  }
});

/** As one would write it for short texts. */
const PLAIN = new RegExp(
  [
    String.raw`(?:\b(?:bearer|basic|key)\s+(?=\S*[\d:=])[\w.~+/:-]{12,}=*)`,
    String.raw`(?:\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)`,
    String.raw`(?:\b(?:sk|pk|rk|ghp|gho|xox[abp])[-_][\w-]{16,})`,
    String.raw`(?:\bkey_[\w-]{1,64}:[\w-]{8,})`,
    String.raw`(?:\bAKIA[0-9A-Z]{16}\b)`,
  ].join("|"),
  "gi",
);

test("what a plain search finds goes, and where it finds nothing all stays", () => {
  const token = fc.constantFrom("eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "sk-abcdefghijklmnop", "AKIAABCDEFGHIJKLMNOP");
  const parts = fc.oneof({ weight: 4, arbitrary: part.filter((one) => !/[/?#[]/.test(one)) }, token);
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 12 }), (text) => {
      const cleaned = recordable(text.join(""));
      if (text.join("").search(PLAIN) < 0) expect(cleaned).toBe(redactUrls(text.join("")));
      else expect(cleaned).not.toMatch(PLAIN);
    }),
    { numRuns: isFull ? 3_000 : 1_000 },
  );
});
