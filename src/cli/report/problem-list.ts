import type { Problem } from "../../index.ts";
import { visible } from "../text/escape.ts";

/** Every problem on a line of its own: step, field, what is wrong, what is accepted. */
export function problemList(problems: readonly Problem[]): string {
  return problems.map((problem) => `  ${where(problem)}: ${visible(problem.message)}`).join("\n");
}

function where(problem: Problem): string {
  const parts = [problem.step ?? "input", problem.field].filter((part) => part !== null);
  return parts.map(visible).join("  ");
}
