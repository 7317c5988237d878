import { withoutFullStop } from "../../core/kit/clean-text.ts";
import { HOUR_MS } from "../../core/kit/duration.ts";
import type { Problem, RunDocument } from "../../index.ts";
import { visible } from "../text/escape.ts";

export function problemList(problems: readonly Problem[]): string {
  return problems.map((problem) => `  ${where(problem)}: ${visible(problem.message)}`).join("\n");
}

function where(problem: Problem): string {
  const parts = [problem.step ?? "input", problem.field].filter((part) => part !== null);
  return parts.map(visible).join("  ");
}

export function overchargeLines({ id, overcharges, over_budget, budget }: RunDocument): readonly string[] {
  const lines = overcharges.map(({ model, times, excess, worst }) => {
    const ratio = worst === null ? "" : `, at worst $${worst.charged} instead of $${worst.quoted}`;
    const what = times === 1 ? "1 charge" : `${times} charges`;
    return `${visible(model)}: ${what} exceeded the quote by $${excess} in total${ratio}. Later jobs with this model reserve the amount that was charged`;
  });
  if (over_budget === null) return lines;
  return [
    ...lines,
    `The run spent $${over_budget} more than its budget of $${budget}: showrunner reconcile ${visible(id)} lists the jobs`,
  ];
}

/** Lists missing results, except those that the table of steps already shows. */
export function missingLines(report: RunDocument, now: number): readonly string[] {
  const missing = report.missing.filter(({ what }) => !toldBySteps.has(what));
  const alike = Map.groupBy(missing, ({ step, what, until, text }) =>
    what === "job" && step !== null ? withoutWord(text, step) : JSON.stringify([until, text]),
  );
  const lines = [...alike.values()].map(([first, ...others]) => {
    const names = others.map(({ step }) => visible(step ?? "")).join(", ");
    return `${lineOf(first!, now)}${others.length === 0 ? "" : `. The same applies to ${names}`}`;
  });
  const { length: gone } = report.expiring.filter(({ expires_at, copied }) => copied && Date.parse(expires_at) <= now);
  if (gone === 0) return lines;
  const what = gone === 1 ? "1 output is" : `${gone} outputs are`;
  return [...lines, `${what} no longer on the service; local copies are uploaded again for free when needed.`];
}

/** Removes a step's name, so that identical messages about different steps can be grouped. */
function withoutWord(text: string, word: string): string {
  const others = text.split(" ").filter((one) => one !== word && one !== `${word}:`);
  return others.join(" ");
}

type Missing = RunDocument["missing"][number];

const toldBySteps: ReadonlySet<Missing["what"]> = new Set(["decision", "result"]);

function lineOf({ what, until, text }: Missing, now: number): string {
  if (what === "job") return visible(text);
  const said = visible(withoutFullStop(text));
  if (what !== "file" || until === null) return `${said}.`;
  const leftMs = Date.parse(until) - now;
  if (leftMs <= 0) return `${said}. That time has passed, so the output may have to be generated again.`;
  const left = leftMs < HOUR_MS ? "less than an hour" : `${Math.floor(leftMs / HOUR_MS)} h`;
  return `${said}: resume within ${left}.`;
}
