import type { Problem, RunReport } from "../../index.ts";
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
    `The budget of $${budget} was passed by $${over_budget}: showrunner reconcile ${visible(id)} lists the jobs`,
  ];
}

const HOUR_MS = 3_600_000;

/** Warnings of a paused run about the 48 hours of the service; none for outputs with a local copy. */
export function expiryLines(report: RunReport, now: number): readonly string[] {
  if (report.status !== "paused") return [];
  const removed = report.expiring.filter(({ expires_at, copied }) => copied && Date.parse(expires_at) <= now);
  const healed =
    removed.length === 0
      ? []
      : [`${count(removed.length)} no longer at the service; copies here go back for free when they are needed.`];
  return [...report.expiring.filter(({ copied }) => !copied).map((one) => lineOf(one, now)), ...healed];
}

function lineOf({ step, index, expires_at, needed_by }: RunReport["expiring"][number], now: number): string {
  const what = `Output ${index} of ${visible(step)}`;
  const users = needed_by.length === 0 ? "" : ` (needed by ${needed_by.map(visible).join(", ")})`;
  const leftMs = Date.parse(expires_at) - now;
  const at = `${expires_at.slice(0, 16).replace("T", " ")} UTC`;
  if (leftMs <= 0)
    return `${what} was kept at the service only, until ${at}${users}: it may have to be produced again.`;
  const left = leftMs < HOUR_MS ? "less than an hour" : `${Math.floor(leftMs / HOUR_MS)} h`;
  return `${what} is at the service only, until ${at}, ${left} from now${users}: resume before then.`;
}

function count(n: number): string {
  return n === 1 ? "1 output is" : `${n} outputs are`;
}
