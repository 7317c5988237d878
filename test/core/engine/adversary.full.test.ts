import "./adversary/files-in-memory.ts";
import { describe, test } from "vitest";
import { isFull } from "../../support/sample.ts";
import { expectAllKept } from "./adversary/kept.ts";

/** The usual check lives the same lives each time, other ones than the quick one; a full one more, and others each time. */
const lives = isFull ? { numRuns: 50_000 } : { numRuns: 500, seed: 20_261_122 };

describe(`${lives.numRuns} lives of runs, hot or in slices, whatever the service answers, whenever a process dies, whatever a person commands`, () => {
  test(
    "nothing is paid twice, lost or overspent, and what the screen says brings each run to its end [G2]",
    () => expectAllKept(lives),
    3_600_000,
  );
});
