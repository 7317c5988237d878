import { formatUsd } from "../../money.ts";
import type { Statement, StatementLine } from "./statement.ts";

const sections = { charged: "Charged", unbilled: "Not billed yet", disputed: "Disputed" } as const;

/** For spreadsheets: exact cost and invoiced amount, one line each; no total, which a sheet computes. */
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

/** A text that a spreadsheet would take for a formula gets a quote in front. */
function safe(text: string): string {
  return /^[\s\p{Cc}]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/u.test(text) ? `'${text}` : text;
}

function quoted(cell: string): string {
  return /[",\r\n;\t']/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** For a client: amounts as invoiced, without what they cost and without names of steps; one file without scripts. */
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
<p class="rule">The total is the exact sum, rounded once to the cent; lines are rounded so that they add up to it.</p></body></html>
`;
}

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:48rem;margin:2.5rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
table{width:100%;border-collapse:collapse}th,td{text-align:left;padding:.4rem .5rem;border-bottom:1px solid #ddd;overflow-wrap:anywhere;vertical-align:top}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}tfoot th,tfoot td{font-weight:700;border-bottom:0}.rule{color:#555;font-size:.85rem}
h2{margin-top:2rem;font-size:1.1rem}thead{display:table-header-group}tr{break-inside:avoid}@page{margin:18mm}@media print{body{margin:0;max-width:none}}`;

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
}
