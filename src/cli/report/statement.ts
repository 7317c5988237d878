import {
  formatCents,
  invoiced,
  type JournalStore,
  type MadeOfKind,
  type OpenAmount,
  type Period,
  type RunCharges,
  runCharges,
} from "../../internal.ts";
import { counted } from "../text/table.ts";

/** A line of a statement, with its amount as it is invoiced. */
export interface StatementLine {
  readonly section: "charged" | "unbilled" | "disputed";
  readonly run: string;
  readonly pipeline: string;
  /** What people call the run; its id where it has no title. */
  readonly title: string;
  /** What was made, or why the amount is open. */
  readonly text: string;
  readonly step: string | null;
  readonly costMicros: number;
  readonly amount: string;
}

export interface Statement {
  readonly lines: readonly StatementLine[];
  /** Of the lines that are charged. */
  readonly costMicros: number;
  readonly amount: string;
}

interface Source {
  readonly run: string;
  readonly pipeline: string;
  readonly title: string;
  readonly charges: RunCharges;
}

/** What the runs with these tags were charged within the period, oldest run first. */
export async function statementOf(
  journal: JournalStore,
  { tags, period, markup }: { readonly tags: RunTags; readonly period: Period; readonly markup: bigint },
): Promise<Statement> {
  const sources: Source[] = [];
  for (const { runId, pipeline, title } of (await journal.runs({ tags })).toReversed()) {
    sources.push({
      run: runId,
      pipeline,
      title: title ?? runId,
      charges: runCharges(await journal.read(runId), period),
    });
  }
  const charged = sources
    .filter(({ charges: { costMicros, made } }) => costMicros !== 0 || made.length > 0)
    .map(({ charges: { costMicros, made }, ...run }) => ({ ...run, step: null, text: madeText(made), costMicros }));
  const { total } = invoiced(
    charged.map(({ costMicros }) => costMicros),
    markup,
  );
  return {
    lines: [
      ...withAmounts("charged", charged, markup),
      ...withAmounts(
        "unbilled",
        sources.flatMap((one) => openLines(one, one.charges.unbilled)),
        markup,
      ),
      ...withAmounts(
        "disputed",
        sources.flatMap((one) => openLines(one, one.charges.disputed)),
        markup,
      ),
    ],
    costMicros: charged.reduce((sum, { costMicros }) => sum + costMicros, 0),
    amount: formatCents(total),
  };
}

type RunTags = { readonly [key: string]: string };
type Unpriced = Omit<StatementLine, "section" | "amount">;

function withAmounts(
  section: StatementLine["section"],
  lines: readonly Unpriced[],
  markup: bigint,
): readonly StatementLine[] {
  const costs = lines.map(({ costMicros }) => costMicros);
  const amounts = invoiced(costs, markup).lines;
  return lines.map((one, at) => ({ section, ...one, amount: formatCents(amounts[at]!) }));
}

const reasons: Readonly<Record<OpenAmount["why"], string>> = {
  bill: "reserved, not billed yet",
  submit: "no answer to the submit",
  impossible: "the bill cannot be right",
  answer: "a request without an answer, up to",
};

function openLines({ run, pipeline, title }: Source, open: readonly OpenAmount[]): readonly Unpriced[] {
  return open.map(({ step, amountMicros, why }) => ({
    run,
    pipeline,
    title,
    step,
    text: reasons[why],
    costMicros: amountMicros,
  }));
}

function madeText(made: readonly MadeOfKind[]): string {
  if (made.length === 0) return "a corrected bill, or no result";
  return made
    .map(({ kind, count, durationMs }) => {
      const what = kind === "audio" ? counted(count, "sound") : counted(count, kind);
      return durationMs === 0 ? what : `${what} (${(durationMs / 1000).toFixed(1)} s)`;
    })
    .join(", ");
}
