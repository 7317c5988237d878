import { dollars } from "../../core/kit/money.ts";
import { visible } from "../text/escape.ts";
import { type Column, counted, shorten, table } from "../text/table.ts";
import type { Checked, CheckedRun, CheckedStep } from "./check-runs.ts";
import { problemList } from "./warning-lines.ts";

const MOST_RUNS = 50;
const MOST_STEPS = 20;
const MOST_FIELDS = 2;
/** Characters of a value. */
const LONGEST = 40;

const columns: readonly Column<CheckedStep>[] = [
  { title: "", value: ({ cause }) => `  ${cause}` },
  { title: "step", value: ({ path }) => visible(path), flexible: true },
  { title: "price", value: price, align: "right" },
  {
    title: "",
    value: ({ fields }) => visible(fields.slice(0, MOST_FIELDS).map(changeText).join("; ")),
    flexible: true,
  },
];

function changeText({ field, before, after }: CheckedStep["fields"][number]): string {
  const text = (value: unknown) => (value === undefined ? "nothing" : shorten(JSON.stringify(value), LONGEST));
  return `${field}: ${text(before)} → ${text(after)}`;
}

function price({ cause, costMicros }: CheckedStep): string {
  if (costMicros !== null) return dollars(costMicros);
  return cause === "gone" ? "" : "–";
}

/** The runs that would not continue as they were begun, each with its steps. */
export function checkTable({ runs }: Checked, width?: number): string {
  const differ = runs.filter(({ isSame }) => !isSame);
  const parts = differ.slice(0, MOST_RUNS).map((run) => runLines(run, width));
  if (differ.length > MOST_RUNS) parts.push(`… and ${counted(differ.length - MOST_RUNS, "more run", "more runs")}`);
  return parts.join("\n\n");
}

function runLines({ runId, pipeline, status, steps, problems }: CheckedRun, width?: number): string {
  const head = `${visible(runId)} (${visible(pipeline)}, ${visible(status)})`;
  const more = steps.length > MOST_STEPS ? [`  … and ${steps.length - MOST_STEPS} more steps`] : [];
  const rows = steps.length === 0 ? [] : [table(steps.slice(0, MOST_STEPS), columns, width), ...more];
  return [head, ...(problems.length === 0 ? [] : [problemList(problems)]), ...rows].join("\n");
}

/** What making it again costs, over the runs. */
export function totalOf(runs: readonly CheckedRun[]): string {
  const min = runs.reduce((sum, { totalMicros }) => sum + totalMicros.min, 0);
  const isOpen = runs.some(({ totalMicros, problems }) => totalMicros.max === null || problems.length > 0);
  return `${isOpen ? "at least " : ""}${dollars(min)} for what is made again or newly`;
}
