/** Stryker's test runner: runs the tests of a group in its own process, and skips mutants that are not in the sample. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isIn, sampleOf } from "./sample.ts";
import { fileOf, outcomeOf, type Suite, suiteIn } from "./test-suite.ts";

/** Global state that code with mutants reads and updates. */
interface Switch {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: { readonly static: object; readonly perTest: object } | undefined;
}

interface MutantRun {
  readonly activeMutant: {
    readonly id: string;
    readonly fileName: string;
    readonly mutatorName: string;
    readonly replacement: string;
    readonly location: { readonly start: { readonly line: number; readonly column: number } };
  };
  /** Ids of the tests that reach the mutant; undefined for all tests, if it is evaluated when its module is loaded. */
  readonly testFilter?: readonly string[];
  readonly hitLimit?: number;
  readonly mutantActivation: "static" | "runtime";
}

const sample = sampleOf(process.env.SHOWRUNNER_MUTATION_SAMPLE ?? "1");

class InProcessRunner {
  readonly #switch: Switch;
  #suite: Suite = () => [];
  /** File with the duration of each test without a mutant. */
  readonly #times = join(process.cwd(), "test-times.json");
  /** File with the mutants that each test reaches. */
  readonly #reached = join(process.cwd(), "mutants-reached.json");

  constructor() {
    const shared = globalThis as { __stryker__?: Switch };
    shared.__stryker__ ??= {};
    this.#switch = shared.__stryker__;
  }

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init(): Promise<void> {
    this.#suite = await suiteIn(process.cwd(), (process.env.SHOWRUNNER_MUTATION_TESTS ?? "").split(","));
    // Not when this is the second process, or comes after one that was stopped.
    if (!existsSync(this.#reached)) writeFileSync(this.#reached, JSON.stringify(await this.#coverage()));
  }

  /** Runs each test file with fresh modules, so that every file reaches code whose result is cached. */
  async #coverage() {
    const own = this.#switch;
    for (const file of new Set(this.#suite().map(fileOf))) {
      for (const test of this.#suite().filter((one) => fileOf(one) === file)) {
        own.currentTestId = test.id;
        await outcomeOf(test);
        own.currentTestId = undefined;
      }
    }
    return own.mutantCoverage;
  }

  async dryRun() {
    const tests = [];
    for (const test of this.#suite()) {
      const { ms, failure } = await outcomeOf(test);
      const result = { id: test.id, name: test.id, timeSpentMs: ms };
      tests.push(failure === null ? { ...result, status: 0 } : { ...result, status: 1, failureMessage: failure });
    }
    writeFileSync(
      this.#times,
      JSON.stringify(Object.fromEntries(tests.map(({ id, timeSpentMs }) => [id, timeSpentMs]))),
    );
    return { status: "complete", tests, mutantCoverage: JSON.parse(readFileSync(this.#reached, "utf8")) };
  }

  async mutantRun({ activeMutant: mutant, testFilter, hitLimit, mutantActivation }: MutantRun) {
    const { fileName, mutatorName: mutator, replacement, location } = mutant;
    const { line, column } = location.start;
    const file = fileName.replaceAll("\\", "/").replace(/^.*\/src\//, "src/");
    if (!isIn(sample, { file, line: line + 1, column: column + 1, mutator, replacement }))
      return { status: "error", errorMessage: "not in the sample" };
    const own = this.#switch;
    Object.assign(own, { hitCount: 0, hitLimit, activeMutant: mutantActivation === "static" ? mutant.id : undefined });
    try {
      // A cached result hides from later tests of its file what they depend on, so all tests of the file are run.
      const reached = testFilter === undefined ? null : new Set(testFilter.map((id) => fileOf({ id })));
      const times = JSON.parse(readFileSync(this.#times, "utf8")) as Readonly<Record<string, number>>;
      const tests = this.#suite()
        .filter((test) => reached?.has(fileOf(test)) !== false)
        .sort((one, other) => (times[one.id] ?? 0) - (times[other.id] ?? 0));
      own.activeMutant = mutant.id;
      for (const [position, test] of tests.entries()) {
        const { failure } = await outcomeOf(test);
        if (own.hitCount! > (hitLimit ?? Number.POSITIVE_INFINITY))
          return { status: "timeout", reason: "it goes on for ever" };
        if (failure !== null)
          return { status: "killed", killedBy: [test.id], failureMessage: failure, nrOfTests: position + 1 };
      }
      return { status: "survived", nrOfTests: tests.length };
    } catch (error) {
      return { status: "error", errorMessage: `The tests could not be read: ${String(error)}` };
    } finally {
      own.activeMutant = undefined;
    }
  }
}

export const strykerPlugins = [{ kind: "TestRunner", name: "in-process", injectableClass: InProcessRunner }];
