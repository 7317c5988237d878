import type { Plan, PlanStep } from "../plan.ts";
import { type DiagramOptions, noteOf } from "./options.ts";

/** The plan as a Mermaid flowchart, left to right. */
export function planMermaid(plan: Plan, options: DiagramOptions = {}): string {
  const ids = new Map(plan.steps.map(({ path }, index) => [path, `s${index}`]));
  const highlighted = new Set(options.highlighted);
  const lines = ["flowchart LR"];
  for (const step of plan.steps) lines.push(`  ${ids.get(step.path)}${shape(step, noteOf(step, options))}`);
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
  const label = `"${text(step.path)}<br/>${text(note)}"`;
  switch (step.kind) {
    case "job":
      return step.yields === "voice" ? `([${label}])` : `[${label}]`;
    case "upload":
      return `[/${label}/]`;
    case "chat":
      return `>${label}]`;
    case "task":
      return `(${label})`;
    case "approve":
      return `{{${label}}}`;
    case "pick":
      return `{${label}}`;
    case "expand":
      return `[[${label}]]`;
    default:
      return step satisfies never;
  }
}

/** Mermaid reads HTML entities in quoted labels. */
function text(value: string): string {
  return value.replace(/[&<>"#;`\n\r]/g, (character) => `#${character.codePointAt(0)};`);
}
