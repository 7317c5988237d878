/**
 * The tests of one part of the pure core as one file, the quick ones first: Stryker runs it anew for each mutant, and one
 * start and one import cost less than one for each file. Only scripts/mutation.ts runs this; it says which folders.
 */
import { globSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";

// A mutant is dead at the first example that fails; a smaller example helps nobody.
fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true });

const slow = ["run/revise", "run/view", "run/scheduler", "run/prune"];
/** Those start compilers, or look at a thousand large graphs. */
const elsewhere = ["define/hovers", "define/messages", "run/doomed-money"];
const root = join(import.meta.dirname, "..");
const names = globSync(`{${process.env.SHOWRUNNER_MUTATION_TESTS},none}`, { cwd: root })
  .map((path) => path.replace(".test.ts", ""))
  .filter((name) => !elsewhere.includes(name))
  .sort((a, b) => slow.indexOf(a) - slow.indexOf(b) || a.localeCompare(b));

for (const name of names) await import(join(root, `${name}.test.ts`));
