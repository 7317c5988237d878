import "./adversary/files-in-memory.ts";
import { describe, test } from "vitest";
import { expectAllKept } from "./adversary/kept.ts";

const isFull = process.env.SHOWRUNNER_TEST_RUNS !== undefined;
/** The usual check lives the same lives each time; a full one other ones, and more. */
const lives = isFull ? { numRuns: 50_000 } : { numRuns: 1_000, seed: 20_261_122 };

describe(`${lives.numRuns} lives of runs, hot or in slices, whatever the service answers, whenever a process dies, whatever a person commands`, () => {
  test(
    "nothing is paid twice, lost or overspent, and what the screen says brings each run to its end",
    () => expectAllKept(lives),
    3_600_000,
  );
});
