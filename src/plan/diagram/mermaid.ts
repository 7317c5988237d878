import { traitsOf } from "../kinds/index.ts";
import type { Plan, PlanStep } from "../plan.ts";

export interface DiagramOptions {
  /** A second line under the name of a step, such as its price. Default: its model, or what it uploads. */
  readonly note?: (step: PlanStep) => string;
  /** Steps to stand out, such as those of the critical path. */
  readonly highlighted?: readonly string[];
  /** A class for the group of a step, such as its status, for a page that has its own style. Letters, digits and `-`. */
  readonly classOf?: (step: PlanStep) => string;
  /** True: no style and no ground of its own, because the page that holds the picture brings them. SVG only. */
  readonly unstyled?: boolean;
}

export function noteOf(step: PlanStep, { note }: DiagramOptions): string {
  return note === undefined ? traitsOf(step).note : note(step);
}

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
  return traitsOf(step).brackets.join(`"${text(step.path)}<br/>${text(note)}"`);
}

/** Mermaid reads HTML entities in quoted labels. */
function text(value: string): string {
  return value.replace(/[&<>"#;`\n\r]/g, (character) => `#${character.codePointAt(0)};`);
}
