import { dollars } from "../../core/kit/money.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import { type Context, journalOf } from "../context.ts";
import { tagsOf } from "../input/flag-values.ts";
import type { Flags } from "../program/flags.ts";
import type { Statement, StatementLine } from "../report/statement.ts";
import { visible } from "../text/escape.ts";
import { type Column, table } from "../text/table.ts";

/** `showrunner statement`: what the runs of a client made and cost within a month, from the journal alone. */
export async function statement(context: Context, flags: Flags["statement"]): Promise<ExitCode> {
  const { io, output } = context;
  const { openJournal, parseMarkup } = await import("../../internal.ts");
  const forms = [flags.csv, flags.html, flags.json].filter(Boolean);
  if (forms.length > 1) throw usage("--csv, --html and --json are three forms", "name one of them");
  const markup = parseMarkup(flags.markup ?? "0");
  if (markup === null) {
    throw usage(`--markup ${visible(flags.markup!)} is none from 0% to 1000%`, "write it as --markup 20% or 12.5%");
  }
  const month = flags.month ?? new Date().toISOString().slice(0, 7);
  const period = periodOf(month);
  const tags = tagsOf(flags.tag) ?? {};
  const { statementOf } = await import("../report/statement.ts");
  const journal = await openJournal(journalOf(io, flags));
  const made = await statementOf(journal, { tags, period, markup }).finally(() => journal.close());
  const whose = (flags.tag ?? ["all runs"]).join(", ");
  if (flags.json) output.printJson(document(made, { month, tags, markup: flags.markup ?? null }));
  else if (flags.csv || flags.html) {
    const { statementCsv, statementHtml } = await import("../report/statement.ts");
    const named = { title: `Statement ${month}`, subtitle: `${whose}; months and days in UTC; US dollars` };
    output.print(flags.csv ? statementCsv(made) : statementHtml(made, named));
  } else {
    const columns = flags.markup === undefined ? shown.filter(({ title }) => title !== "amount") : shown;
    if (made.lines.length > 0) output.print(table(made.lines, columns, io.stdout.columns));
    output.print(`$${made.amount} for ${visible(whose)} in ${month} (UTC)`);
  }
  return ExitCode.done;
}

const shown: readonly Column<StatementLine>[] = [
  { title: "", value: ({ section }) => section },
  { title: "run", value: ({ title }) => visible(title), flexible: true },
  { title: "what", value: ({ text, step }) => visible(step === null ? text : `${step}: ${text}`), flexible: true },
  { title: "cost", value: ({ costMicros }) => dollars(costMicros), align: "money" },
  { title: "amount", value: ({ amount }) => dollars(amount), align: "money" },
];

/** A month by its UTC boundaries. */
function periodOf(month: string): { readonly from: number; readonly to: number } {
  const match = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(month);
  if (match === null) throw usage(`--month ${visible(month)} is no month`, "write it as --month 2026-11");
  const [year, number] = [Number(match[1]), Number(match[2])];
  return { from: Date.UTC(year, number - 1), to: Date.UTC(year, number) };
}

function document(
  { lines, costMicros, amount }: Statement,
  asked: { readonly month: string; readonly tags: { readonly [key: string]: string }; readonly markup: string | null },
) {
  const of = (section: StatementLine["section"]) =>
    lines
      .filter((line) => line.section === section)
      .map(({ section: _, costMicros: cost, ...line }) => ({ ...line, cost_micros: cost }));
  const sections = { charged: of("charged"), unbilled: of("unbilled"), disputed: of("disputed") };
  return { ...asked, cost_micros: costMicros, amount, ...sections };
}

function usage(problem: string, next: string): CliError {
  return new CliError("USAGE", problem, { next });
}
