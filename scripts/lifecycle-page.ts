/** Writes docs/lifecycle.md from the definitions of the five statecharts. Run it after changing a chart. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AnyStateMachine } from "xstate";
import { jobMachine, outputMachine, runMachine, stepMachine } from "../src/core/lifecycle/index.ts";

const charts: readonly [string, AnyStateMachine, string][] = [
  [
    "Run",
    runMachine,
    "The journal says why a run is paused: funds, budget, cap, approval, stopped, drift, code, files, unresolved, late, unreachable, misdirected or credentials.",
  ],
  ["Step", stepMachine, "A `waiting` step is shown as *ready* once everything that it needs exists."],
  [
    "Job",
    jobMachine,
    "A job is one attempt at a step: a submission to the service, or a request to a provider or a chat model. For local code, only failed calls are recorded as jobs. A job's status (`phase`) and its billing status (`money`) are separate. You can use the result before its cost is known, but the hold stays open until then. Showrunner reserves the money for a job before it sends the job's request.",
  ],
  ["Output", outputMachine, "An `archived` output no longer exists on the service, but you have a copy."],
];

const stately = `## In Stately's tools

This script writes one file per statechart for the [Stately editor](https://stately.ai/editor) (*Import from code*) and its VS Code extension:

\`\`\`ts run
import { writeFileSync } from "node:fs";
import { jobMachine, outputMachine, runMachine, stepMachine } from "showrunner/statecharts";

for (const { config } of [runMachine, stepMachine, jobMachine, outputMachine]) {
  const source = \`import { createMachine } from "xstate";\\n\\nexport default createMachine(\${JSON.stringify(config, null, 2)});\\n\`;
  writeFileSync(\`\${config.id}.machine.ts\`, source);
}
\`\`\`

To watch a state machine as it processes the journal's events, create an actor from it and use [@statelyai/inspect](https://stately.ai/docs/inspector).
Pass \`run.finished\` and \`step.finished\` to the actor as \`run.<status>\` and \`step.<status>\`.
`;

export function lifecyclePage(): string {
  const parts = charts.map(
    ([name, machine, note]) => `## ${name}\n\n${note}\n\n\`\`\`mermaid\n${mermaid(machine)}\n\`\`\`\n`,
  );
  return `# Lifecycles

These charts show every state of a run, step, job and output, and every event that leads from one state to another. \`showrunner/statecharts\`
exports the charts. \`node scripts/lifecycle-page.ts\` generates this page from \`src/core/lifecycle\`, which the engine itself uses.

${parts.join("\n")}
${stately}`;
}

/** The parts of a machine's configuration that the diagram shows. */
interface StateConfig {
  readonly type?: string;
  readonly initial?: string;
  readonly states?: { readonly [name: string]: StateConfig };
  readonly on?: { readonly [event: string]: string | { readonly target?: string; readonly guard?: unknown } };
}

/** Draws a machine as a Mermaid state diagram, directly from its definition. */
function mermaid(machine: AnyStateMachine): string {
  return ["stateDiagram-v2", ...region(machine.config as StateConfig, "", "  ")].join("\n");
}

function region(config: StateConfig, prefix: string, indent: string): string[] {
  const states = Object.entries(config.states ?? {});
  if (config.type === "parallel") {
    return states.flatMap(([name, state]) => [
      `${indent}state ${name} {`,
      ...region(state, prefix, `${indent}  `),
      `${indent}}`,
    ]);
  }
  const start = config.initial === undefined ? [] : [`${indent}[*] --> ${config.initial}`];
  return [...start, ...states.flatMap(([name, state]) => lines(name, state, prefix, indent))];
}

function lines(name: string, state: StateConfig, prefix: string, indent: string): string[] {
  const inner =
    state.states === undefined
      ? []
      : [`${indent}state ${name} {`, ...region(state, prefix, `${indent}  `), `${indent}}`];
  const arrows = Object.entries(state.on ?? {}).map(([event, to]) => {
    const target = typeof to === "string" ? to : (to.target ?? name);
    const guard = typeof to === "object" && typeof to.guard === "string" ? ` [${to.guard}]` : "";
    return `${indent}${name} --> ${target} : ${event}${guard}`;
  });
  return [...inner, ...arrows, ...(state.type === "final" ? [`${indent}${name} --> [*]`] : [])];
}

if (import.meta.main) writeFileSync(join(import.meta.dirname, "..", "docs", "lifecycle.md"), lifecyclePage());
