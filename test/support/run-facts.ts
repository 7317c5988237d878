import type { RunDocument } from "../../src/index.ts";

/** The result of a run, or whatever else has its report. */
interface Reported {
  readonly report: RunDocument;
}

export function stepOf({ report }: Reported, path: string) {
  const step = report.steps.find((one) => one.path === path);
  if (step === undefined) throw new Error(`no step ${path}`);
  return step;
}

export function statusesOf({ report }: Reported): Readonly<Record<string, string>> {
  return Object.fromEntries(report.steps.map(({ path, status }) => [path, status]));
}

/** Status and reason of each step, as one text. */
export function whysOf({ report }: Reported): Readonly<Record<string, string>> {
  return Object.fromEntries(report.steps.map(({ path, status, reason }) => [path, `${status}: ${reason}`]));
}

/** Number of attempts of each step. */
export function attemptsOf({ report }: Reported): Readonly<Record<string, number>> {
  return Object.fromEntries(report.steps.map(({ path, attempts }) => [path, attempts.length]));
}
