import { styleText } from "node:util";
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";
import type { Absence } from "./absence.ts";

let vitest: Vitest;

/** Prints at the end which tests and files were not run, and how to install what they lack. */
export const skippedTests = (absent: ReadonlyMap<string, Absence>): Reporter => ({
  onInit(started: Vitest) {
    vitest = started;
  },
  onTestRunEnd(modules: readonly TestModule[]) {
    // A run that was narrowed to some tests, or that ended at its first failure, skips all others.
    const { testNamePattern, bail } = vitest.config;
    const isCut = (bail ?? 0) > 0 && modules.some((file) => !file.ok());
    if (testNamePattern !== undefined || isCut) return;
    const skipped = modules.flatMap((file) => [...file.children.allTests("skipped")]);
    const rows = [
      ...[...absent].filter(([file]) => isAsked(file)).map(([file, lacks]) => ({ file, reason: reasonFor(lacks) })),
      ...skipped.map((one) => ({ file: one.module.relativeModuleId, name: one.fullName, reason: reasonOf(one) })),
    ];
    if (rows.length === 0) return;
    console.error(styleText(["bold", "yellow"], "\nNOT RUN"));
    for (const [reason, of] of Map.groupBy(rows, (row) => row.reason)) {
      console.error(styleText("yellow", `  for lack of ${reason}`));
      for (const { file, name } of of as readonly { file: string; name?: string }[])
        console.error(`    ${file}${name === undefined ? "" : ` > ${name}`}`);
    }
  },
});

/** True if a file belongs to this run, according to its projects and the file names in its command. */
function isAsked(file: string): boolean {
  const [, tier = "quick-programs"] = /\.(long|full)\.test\.ts$/.exec(file) ?? [];
  const words = process.argv.slice(2).filter((word) => word.startsWith("test/"));
  return (
    vitest.projects.some(({ name }) => name === tier) && (words.length === 0 || words.some((one) => file.includes(one)))
  );
}

const reasonFor = ({ what, cure }: Absence) => `${what}: ${cure}`;

function reasonOf(one: TestCase): string {
  const result = one.result();
  const note = result.state === "skipped" ? result.note : undefined;
  return (
    one.meta().lacks ??
    note ??
    (setupFailed(one) ? `a setup: that of ${one.module.relativeModuleId} failed` : "a reason")
  );
}

/** True if a setup failed: a failed `beforeAll` is an error of its suite or file, and its tests are skipped. */
function setupFailed(one: TestCase): boolean {
  for (let around: TestSuite | TestModule = one.parent; ; around = around.parent) {
    if (around.errors().length > 0) return true;
    if (around.type === "module") return false;
  }
}
