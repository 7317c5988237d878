/** The generated parts of docs/internal/performance.md, and its pictures, out of what the bench stored. Pure. */
import { curveCells, figureCells, type ResultFile, type Results } from "./harness.ts";
import { type Bars, barPlot, growthPlot } from "./plot.ts";

type Part = ResultFile["parts"][string];

interface Picture {
  /** In docs/internal/pictures. */
  readonly file: string;
  readonly alt: string;
  readonly draw: (part: Part) => string;
}

/** Of parts by name. */
export const pictures: Readonly<Record<string, readonly Picture[]>> = {
  peers: [{ file: "performance-peers.svg", alt: "Steps per second of Showrunner and its peers", draw: peersPicture }],
  growth: [
    { file: "performance-time.svg", alt: "Time by steps of a run", draw: (part) => growthPicture(part, "ms") },
    {
      file: "performance-space.svg",
      alt: "Memory and journal by steps of a run",
      draw: (part) => growthPicture(part, "bytes"),
    },
  ],
};

/** The part's tables, as Markdown. */
function tables(part: Part): string {
  const groups = [...new Set([...part.figures, ...part.curves].map(({ group }) => group))];
  const made = groups.flatMap((group) => [`**${group}**`, ...groupTables(part, group)]);
  const on = `Measured ${part.measuredAt.slice(0, 10)} at ${part.commit} on ${part.machine}.`;
  return [on, ...made, ...part.notes.map((note) => `- ${note}`)].join("\n\n").replaceAll("\n\n- ", "\n- ");
}

function groupTables({ figures, curves }: Results, group: string): string[] {
  const made: string[] = [];
  const own = figures.filter((figure) => figure.group === group);
  if (own.length > 0) made.push(table(["", "median", "min", "max", "", "bar", ""], own.map(figureCells)));
  const grown = curves.filter((curve) => curve.group === group);
  if (grown.length > 0) {
    const sizes = [...new Set(grown.flatMap(({ points }) => points.map(({ size }) => size)))].sort((a, b) => a - b);
    const head = ["steps", ...sizes.map((size) => size.toLocaleString("en")), "", "exponent", "bar", ""];
    const rows = grown.map((curve) => curveCells(curve, sizes));
    made.push(table(head, rows));
  }
  return made;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [row(head), row(head.map((_, column) => (column === 0 ? "---" : "---:"))), ...rows.map(row)].join("\n");
}

/** Steps per second of all contenders, a panel for each case. */
function peersPicture(part: Results): string {
  const rates = part.figures.filter(({ unit }) => unit === "steps/s");
  const panels = [...new Set(rates.map(({ group }) => group))].map((group): Bars => {
    const own = rates.filter((figure) => figure.group === group);
    return { title: group, bars: own.map(({ name, samples }) => ({ name, samples, isOurs: name === "Showrunner" })) };
  });
  return barPlot("Steps per second beside the peers", "steps per second", panels);
}

/** One run as it grows: `unit` says of which curves; those that detail another one (“run, processor time”) are left to the table. */
function growthPicture(part: Results, unit: string): string {
  const lines = part.curves.filter((curve) => curve.unit === unit && !curve.name.includes(", "));
  const what = unit === "ms" ? "milliseconds" : unit;
  return growthPlot(`Growth of one run, ${what}`, ["steps of the run", what], lines);
}

/** `page` with each `<!-- bench: NAME -->` … `<!-- end -->` filled with that part's pictures and tables. */
export function filled(page: string, parts: Readonly<Record<string, Part>>): string {
  return page.replaceAll(
    /(<!-- bench: (\S+) -->)[\s\S]*?(<!-- end -->)/g,
    (_, open: string, name: string, close: string) => {
      const part = parts[name];
      const shown = (pictures[name] ?? []).map(({ file, alt }) => `![${alt}](pictures/${file})`);
      const content = part === undefined ? "Not measured yet." : [...shown, tables(part)].join("\n\n");
      return `${open}\n\n${content}\n\n${close}`;
    },
  );
}
