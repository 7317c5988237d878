import { expect } from "vitest";

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

/**
 * Expects that `text` contains none of `words`. Times are removed first, and a word that an id may contain by chance
 * is refused: the digits of both differ in each run, and such a test fails once in some hundred runs.
 */
export function expectAbsent(text: string, words: readonly string[]): void {
  const read = text.replaceAll(TIME, "");
  for (const word of words) {
    if (/^[\w-]{0,4}$/.test(word)) throw new Error(`An id may contain "${word}" by chance: give a longer word.`);
    expect(read).not.toContain(word);
  }
}
