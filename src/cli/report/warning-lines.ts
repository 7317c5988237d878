import { HOUR_MS } from "../../core/kit/duration.ts";
import type { Missing, Problem, RunReport } from "../../internal.ts";
import { visible } from "../text/escape.ts";

/** Every problem on a line of its own: step, field, what is wrong, what is accepted. */
export function problemList(problems: readonly Problem[]): string {
  return problems.map((problem) => `  ${where(problem)}: ${visible(problem.message)}`).join("\n");
}

function where(problem: Problem): string {
  const parts = [problem.step ?? "input", problem.field].filter((part) => part !== null);
  return parts.map(visible).join("  ");
}

/** What the service charged above its quotes, and whether that passed the budget. */
export function overchargeLines({ id, overcharges, over_budget, budget }: RunReport): readonly string[] {
  const lines = overcharges.map(({ model, times, excess, worst }) => {
    const ratio = worst === null ? "" : `, up to $${worst.charged} for a quote of $${worst.quoted}`;
    const what = times === 1 ? "1 charge" : `${times} charges`;
    return `${visible(model)}: ${what} above the quote, $${excess} too much${ratio}. Later jobs are held at what it really costs`;
  });
  if (over_budget === null) return lines;
  return [
    ...lines,
    `$${over_budget} more than the budget of $${budget} are spent: showrunner reconcile ${visible(id)} lists the jobs`,
  ];
}

/** What a run lacks besides what its table of steps says, and what is no longer at the service. */
export function missingLines(report: RunReport, now: number): readonly string[] {
  const missing = report.missing.filter(({ what }) => !toldBySteps.has(what));
  // What happened to several steps in the same way is one line, which names the others.
  const alike = Map.groupBy(missing, ({ step, what, until, text }) =>
    what === "job" && step !== null ? withoutWord(text, step) : JSON.stringify([until, text]),
  );
  const lines = [...alike.values()].map(([first, ...others]) => {
    const names = others.map(({ step }) => visible(step ?? "")).join(", ");
    return `${lineOf(first!, now)}${others.length === 0 ? "" : `. The same goes for ${names}`}`;
  });
  const removed = report.expiring.filter(({ expires_at, copied }) => copied && Date.parse(expires_at) <= now);
  const healed =
    removed.length === 0
      ? []
      : [`${count(removed.length)} no longer at the service; copies here go back for free when they are needed.`];
  return [...lines, ...healed];
}

/** What is said of a step but for its name. */
function withoutWord(text: string, word: string): string {
  const others = text.split(" ").filter((one) => one !== word && one !== `${word}:`);
  return others.join(" ");
}

const toldBySteps: ReadonlySet<Missing["what"]> = new Set(["decision", "result"]);

function lineOf({ what, until, text }: Missing, now: number): string {
  const said = visible(text);
  if (what === "job") return said;
  if (what !== "file" || until === null) return `${said}.`;
  const leftMs = Date.parse(until) - now;
  if (leftMs <= 0) return `${said}: that is over, and it may have to be produced again.`;
  const left = leftMs < HOUR_MS ? "less than an hour" : `${Math.floor(leftMs / HOUR_MS)} h`;
  return `${said}: resume before then, ${left} from now.`;
}

function count(n: number): string {
  return n === 1 ? "1 output is" : `${n} outputs are`;
}
