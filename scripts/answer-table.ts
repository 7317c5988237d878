/** Writes the tables of answers to docs/internal/guarantees.md. Run it after changing src/core/answers.ts. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Answer,
  answers,
  answerTable,
  meanings,
  type RequestKind,
  requestKinds,
  type SentBefore,
  type VerdictName,
  verdicts,
} from "../src/core/answers.ts";

const page = join(import.meta.dirname, "..", "docs", "internal", "guarantees.md");
const [begin, end] = ["<!-- answers: begin, by scripts/answer-table.ts -->", "<!-- answers: end -->"];

/** Returns the page with its tables updated. */
export function guaranteesPage(text: string = readFileSync(page, "utf8")): string {
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${page} has no markers for the tables of answers.`);
  return `${before}${begin}\n\n${answerSection()}\n\n${end}${after}`;
}

function answerSection(): string {
  const five = Object.entries(meanings).map(([name, means]) => `- **${name}**: ${means}.`);
  const kinds = Object.keys(requestKinds) as RequestKind[];
  const tables = kinds.flatMap((kind) => {
    const sent = Object.keys(answerTable[kind]) as SentBefore[];
    return sent.map((before) => columnTable(kind, before, sent.length > 1));
  });
  return [five.join("\n"), ...tables].join("\n\n");
}

function columnTable(kind: RequestKind, before: SentBefore, isOneOfTwo: boolean): string {
  const column = answerTable[kind][before]!;
  const byVerdict = new Map<VerdictName, Answer[]>();
  for (const answer of Object.keys(answers) as Answer[]) {
    byVerdict.set(column[answer], [...(byVerdict.get(column[answer]) ?? []), answer]);
  }
  const rows = [...byVerdict].map(([name, came]) => {
    const { meaning, job, hold, step, pause, retried } = verdicts[name];
    const run = pause === null ? "continues" : `${retried ? "tries again, then " : ""}pauses: \`${pause}\``;
    return `| ${sayAnswers(came)} | ${meaning} | ${job} | ${hold} | ${step} | ${run} |`;
  });
  const title = `${requestKinds[kind]}${isOneOfTwo ? `, ${before}` : ""}`;
  return [
    `### ${title[0]!.toUpperCase()}${title.slice(1)}`,
    "",
    "| Answer | Meaning | Job | Hold | Step | Run |",
    "|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

/** Returns text that lists answers by their source, such as `with envelope: 400, 404`. */
function sayAnswers(came: readonly Answer[]): string {
  const bySource = Map.groupBy(came, (answer) => answers[answer].source);
  return [...bySource]
    .map(([source, all]) => `*${source}*: ${all.map((one) => answers[one].text).join(", ")}`)
    .join("; ");
}

if (import.meta.main) writeFileSync(page, guaranteesPage());
