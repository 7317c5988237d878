import { toDocument } from "../../core/kit/document.ts";
import { formatCents, invoiced, parseMarkup } from "../../core/kit/invoice.ts";
import { dollars, formatUsd } from "../../core/kit/money.ts";
import { tagTexts } from "../../core/kit/tags.ts";
import { type RunCharges, type RunRow, runCharges } from "../../core/view/index.ts";
import { type JournalStore, openJournal } from "../../index.ts";
import { usageError } from "../cli-error.ts";
import { type Context, journalOf } from "../context.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { type Column, counted, table } from "../text/table.ts";

export async function statement(context: Context, flags: Flags["statement"]): Promise<void> {
  const { io, output } = context;
  const forms = [flags.csv, flags.html, flags.json].filter(Boolean);
  if (forms.length > 1) throw usageError("--csv, --html and --json are mutually exclusive", "use only one of them");
  const markup = parseMarkup(flags.markup ?? "0");
  if (markup === null) {
    const message = `--markup ${visible(flags.markup!)} is not a percentage from 0% to 1000%`;
    throw usageError(message, "write a percentage, such as --markup 20% or --markup 12.5%");
  }
  const month = flags.month ?? new Date().toISOString().slice(0, 7);
  const period = periodOf(month);
  const { tag: tags = {} } = flags;
  const journal = await openJournal(journalOf(io, flags));
  const made = await statementOf(journal, { tags, period, markup }).finally(() => journal.close());
  const whose = flags.tag === undefined ? "all runs" : tagTexts(flags.tag).join(", ");
  output.printJson(document(made, { month, tags, markup: flags.markup ?? null }));
  if (flags.csv || flags.html) {
    const named = { title: `Statement ${month}`, subtitle: `${whose}; dates in UTC; amounts in US dollars` };
    output.print(flags.csv ? statementCsv(made) : statementHtml(made, named));
  } else {
    const columns = flags.markup === undefined ? shown.filter(({ title }) => title !== "amount") : shown;
    if (made.lines.length > 0) output.print(table(made.lines, columns, io.stdout.columns));
    output.print(`$${made.amount} for ${visible(whose)} in ${month} (UTC)`);
  }
}

const shown: readonly Column<StatementLine>[] = [
  { title: "", value: ({ section }) => section },
  { title: "run", value: ({ title }) => visible(title), flexible: true },
  { title: "what", value: ({ text, step }) => visible(step === null ? text : `${step}: ${text}`), flexible: true },
  { title: "cost", value: ({ costMicros }) => dollars(costMicros), align: "money" },
  { title: "amount", value: ({ amount }) => dollars(amount), align: "money" },
];

interface Period {
  readonly from: number;
  readonly to: number;
}

function periodOf(month: string): Period {
  const match = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(month);
  if (match === null) throw usageError(`--month ${visible(month)} is not a month`, "write it as --month 2026-11");
  const [year, number] = [Number(match[1]), Number(match[2])];
  return { from: Date.UTC(year, number - 1), to: Date.UTC(year, number) };
}

function document(
  { lines, costMicros, amount }: Statement,
  asked: { readonly month: string; readonly tags: RunRow["tags"]; readonly markup: string | null },
) {
  const of = (section: StatementLine["section"]) =>
    lines.filter((line) => line.section === section).map(({ section: _, ...line }) => line);
  const sections = { charged: of("charged"), unbilled: of("unbilled"), disputed: of("disputed") };
  return toDocument({ ...asked, costMicros, amount, ...sections });
}

interface StatementLine {
  readonly section: "charged" | "unbilled" | "disputed";
  readonly run: string;
  readonly pipeline: string;
  readonly title: string;
  /** What was produced, or why the amount is not final. */
  readonly text: string;
  readonly step: string | null;
  readonly costMicros: number;
  readonly amount: string;
}

type Statement = Awaited<ReturnType<typeof statementOf>>;

/** Returns a statement's charged, unbilled and disputed lines. The total covers only the charged ones. */
export async function statementOf(
  journal: JournalStore,
  { tags, period, markup }: { readonly tags: RunRow["tags"]; readonly period: Period; readonly markup: bigint },
) {
  const sources: Source[] = [];
  for (const { runId, pipeline, title } of (await journal.runs({ tags })).toReversed()) {
    const charges = runCharges(await journal.read(runId), period);
    sources.push({ run: runId, pipeline, title: title ?? runId, charges });
  }
  const charged = sources
    .filter(({ charges: { costMicros, made } }) => costMicros !== 0 || made.length > 0)
    .map(({ charges: { costMicros, made }, ...run }) => ({ ...run, step: null, text: madeText(made), costMicros }));
  const costs = charged.map(({ costMicros }) => costMicros);
  return {
    lines: [
      ...withAmounts("charged", charged, markup),
      ...(["unbilled", "disputed"] as const).flatMap((section) => {
        const open = sources.flatMap(({ charges, ...run }) =>
          charges[section].map(({ step, amountMicros, why }) => {
            return { ...run, step, text: reasons[why], costMicros: amountMicros };
          }),
        );
        return withAmounts(section, open, markup);
      }),
    ],
    costMicros: costs.reduce((sum, cost) => sum + cost, 0),
    amount: formatCents(invoiced(costs, markup).total),
  };
}

interface Source extends Pick<StatementLine, "run" | "pipeline" | "title"> {
  readonly charges: RunCharges;
}

type Unpriced = Omit<StatementLine, "section" | "amount">;

function withAmounts(section: StatementLine["section"], lines: readonly Unpriced[], markup: bigint) {
  const costs = lines.map(({ costMicros }) => costMicros);
  const amounts = invoiced(costs, markup).lines;
  return lines.map((one, at) => ({ section, ...one, amount: formatCents(amounts[at]!) }));
}

const reasons: Readonly<Record<RunCharges["unbilled"][number]["why"], string>> = {
  bill: "reserved, not billed yet",
  submit: "the service did not answer the submission",
  impossible: "the service reports an impossible bill",
  answer: "the service did not answer a request; this is the maximum that the request can cost",
};

function madeText(made: RunCharges["made"]): string {
  if (made.length === 0) return "a corrected bill, or no result";
  return made
    .map(({ kind, count, durationMs }) => {
      const what = kind === "audio" ? counted(count, "audio file") : counted(count, kind);
      return durationMs === 0 ? what : `${what} (${(durationMs / 1000).toFixed(1)} s)`;
    })
    .join(", ");
}

const sections = { charged: "Charged", unbilled: "Not billed yet", disputed: "Disputed" } as const;

export function statementCsv({ lines }: Statement): string {
  const head = ["section", "run", "title", "pipeline", "step", "what", "cost_usd", "amount_usd"];
  const rows = lines.map((line) => [
    line.section,
    safe(line.run),
    safe(line.title),
    safe(line.pipeline),
    safe(line.step ?? ""),
    safe(line.text),
    formatUsd(line.costMicros),
    line.amount,
  ]);
  return [head, ...rows].map((cells) => cells.map(quoted).join(",")).join("\n");
}

/** Puts an apostrophe before text that a spreadsheet would run as a formula. */
function safe(text: string): string {
  return /^[\s\p{Cc}]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/u.test(text) ? `'${text}` : text;
}

function quoted(cell: string): string {
  return /[",\r\n;\t']/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** Formats a statement as HTML for the client who is billed. Leaves out your own costs and the step names. */
export function statementHtml(
  { lines, amount }: Statement,
  { title, subtitle }: { readonly title: string; readonly subtitle: string },
): string {
  const table = (section: StatementLine["section"]) => {
    const own = lines.filter((line) => line.section === section);
    if (own.length === 0) return "";
    const rows = own.map(
      ({ title: name, text, amount: each }) =>
        `<tr><td>${escaped(name)}</td><td>${escaped(text)}</td><td class="n">$${each}</td></tr>`,
    );
    const foot =
      section === "charged"
        ? `<tfoot><tr><th colspan="2" scope="row">Total</th><td class="n">$${amount}</td></tr></tfoot>`
        : "";
    const note = section === "charged" ? "" : "<p>Not part of the total.</p>";
    return `<h2>${sections[section]}</h2>${note}<table><thead><tr><th scope="col">Run</th><th scope="col">What</th><th scope="col" class="n">Amount</th></tr></thead><tbody>${rows.join("")}</tbody>${foot}</table>`;
  };
  const body = (["charged", "unbilled", "disputed"] as const).map(table).join("");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title><style>${style}</style></head>
<body><h1>${escaped(title)}</h1><p>${escaped(subtitle)}</p>${body === "" ? "<p>Nothing was charged.</p>" : body}
<p class="rule">The total is the exact sum, rounded to the cent; lines are rounded so that they add up to it.</p></body></html>
`;
}

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:48rem;margin:2.5rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
table{width:100%;border-collapse:collapse}th,td{text-align:left;padding:.4rem .5rem;border-bottom:1px solid #ddd;overflow-wrap:anywhere;vertical-align:top}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}tfoot th,tfoot td{font-weight:700;border-bottom:0}.rule{color:#555;font-size:.85rem}
h2{margin-top:2rem;font-size:1.1rem}thead{display:table-header-group}tr{break-inside:avoid}@page{margin:18mm}@media print{body{margin:0;max-width:none}}`;

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
}
