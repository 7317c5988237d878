/** Writes docs/lifecycle.md: the four statecharts as they are defined. Run it after a chart was changed. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AnyStateMachine } from "xstate";
import { mermaid } from "../src/lifecycle/diagram.ts";
import { jobMachine, outputMachine, runMachine, stepMachine } from "../src/lifecycle/index.ts";

const charts: readonly [string, AnyStateMachine, string][] = [
  [
    "Run",
    runMachine,
    "Why a run is paused (funds, budget, approval, stopped, drift, unresolved) is data of the pause.",
  ],
  ["Step", stepMachine, "*Ready* is a view of `waiting`: everything that the step needs is there."],
  [
    "Job",
    jobMachine,
    "One attempt of a step. What the job does and what became of its money run beside each other: a cost that comes late keeps the hold, not the result. The hold is taken with the intent, before anything is sent.",
  ],
  ["Output", outputMachine, "`kept` is an output that is gone at the service and lives on as our copy."],
];

/** The page as it should be. */
export function lifecyclePage(): string {
  const parts = charts.map(
    ([name, machine, note]) => `## ${name}\n\n${note}\n\n\`\`\`mermaid\n${mermaid(machine)}\n\`\`\`\n`,
  );
  return `# Lifecycles

Drawn from the definitions in \`src/lifecycle\` by \`node scripts/lifecycle-page.ts\`; a test fails when this page is stale. The
machines are exported (\`runMachine\`, \`stepMachine\`, \`jobMachine\`, \`outputMachine\`), so that they can be opened in any tool
that reads xstate machines. The fold of the journal moves along look-up tables compiled from them, and along nothing else.

${parts.join("\n")}`;
}

if (import.meta.main) writeFileSync(join(import.meta.dirname, "..", "docs", "lifecycle.md"), lifecyclePage());
