import { type Plan, type PlanStep, traitsOf } from "./plan.ts";

export interface DiagramOptions {
  readonly note?: (step: PlanStep) => string;
  readonly highlighted?: readonly string[];
}

export function planMermaid(plan: Plan, options: DiagramOptions = {}): string {
  const ids = new Map(plan.steps.map(({ path }, index) => [path, `s${index}`]));
  const highlighted = new Set(options.highlighted);
  const lines = ["flowchart LR"];
  for (const step of plan.steps)
    lines.push(`  ${ids.get(step.path)}${shape(step, options.note?.(step) ?? traitsOf(step).note)}`);
  for (const { path, needs } of plan.steps) {
    for (const needed of needs) lines.push(`  ${ids.get(needed)} --> ${ids.get(path)}`);
  }
  const critical = plan.steps.filter(({ path }) => highlighted.has(path)).map(({ path }) => ids.get(path));
  if (critical.length > 0) {
    lines.push("  classDef critical stroke-width:3px", `  class ${critical.join(",")} critical`);
  }
  return `${lines.join("\n")}\n`;
}

function shape(step: PlanStep, note: string): string {
  return traitsOf(step).brackets.join(`"${label(step.path)}<br/>${label(note)}"`);
}

function label(value: string): string {
  return value.replace(/[&<>"#;`\n\r]/g, (character) => `#${character.codePointAt(0)};`);
}
