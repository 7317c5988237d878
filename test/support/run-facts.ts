import type { JournalStore, RunDocument, RunEvent } from "../../src/index.ts";

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

/** Events of run `x`, in their order. */
export async function eventsOf({ journal }: { readonly journal: JournalStore }): Promise<readonly RunEvent[]> {
  return (await journal.read("x")).map(({ event }) => event);
}
