/** The generated parts of docs/internal/performance.md, and its pictures, out of what the bench stored. Pure. */
import { curveCells, figureCells, type ResultFile, type Results } from "./harness.ts";
import { type Bars, barPlot, growthPlot } from "./plot.ts";
import type { Figure } from "./stats.ts";

type Part = ResultFile["parts"][string];

interface Picture {
  /** In docs/internal/pictures. */
  readonly file: string;
  readonly draw: (part: Part) => string;
}

/** Of parts by name. */
export const pictures: Readonly<Record<string, readonly Picture[]>> = {
  peers: [{ file: "performance-peers.svg", draw: peersPicture }],
  growth: [
    { file: "performance-time.svg", draw: (part) => growthPicture(part, "ms") },
    {
      file: "performance-space.svg",
      draw: (part) => growthPicture(part, "bytes"),
    },
  ],
};

/** What to run for a part; all others by their name, with `npm run bench --`. */
const commands: Readonly<Record<string, string>> = {
  peers: "npm run bench:peers",
  "peers-postgres": "npm run bench:peers -- DBOS",
};

/** The rows of a part: of each case the first contender beside the others, and each figure or curve that has a bar. */
function rowsOf(name: string, part: Part): string[][] {
  const { figures, curves, measuredAt, commit } = part;
  const end = [
    `\`${commands[name] ?? `npm run bench -- ${name}`}\``,
    `${measuredAt.slice(0, 10)}, ${commit.slice(0, 7)}`,
  ];
  const measured = figures.flatMap((figure) => {
    const { group, name: figureName, unit, bar } = figure;
    const rivals = figures.filter((other) => other.group === group && subjectOf(other) === subjectOf(figure));
    const leads = figure === (rivals.find((rival) => rival.name.startsWith("Showrunner")) ?? rivals[0]);
    if (bar === undefined && !(leads && rivals.length > 1)) return [];
    const others = leads ? rivals.filter((rival) => rival !== figure) : [];
    const beside = others.map((other) => `${other.name.split(": ")[0]} ${middleOf(other)}`);
    const compared = [...barOf(figureCells(figure)), ...beside].join("; ");
    return [[`${group}: ${figureName}`, `${middleOf(figure)} ${unit}`, compared, ...end]];
  });
  const grown = curves.map((curve) => {
    const size = Math.max(...curve.points.map((point) => point.size));
    const cells = curveCells(curve, [size]);
    const figure = `${cells[1]} ${curve.unit} at ${size.toLocaleString("en")}`;
    const compared = [`exponent of growth ${cells[3]}`, ...barOf(cells)].join("; ");
    return [`${curve.group}: ${curve.name}`, figure.replace("  ", " "), compared, ...end];
  });
  return [...measured, ...grown];
}

/** What contenders have in common: `requests a job` of `client: requests a job`, or steps per second. */
const subjectOf = ({ name, unit }: Figure) => name.split(": ")[1] ?? (unit === "steps/s" ? unit : name);
const middleOf = (figure: Figure) => figureCells(figure)[1]!;

function barOf(cells: readonly string[]): string[] {
  const [bar, isMet] = cells.slice(-2);
  return bar ? [`bar ${bar} ${isMet}`] : [];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [row(head), row(head.map((_, column) => (column === 1 ? "---:" : "---"))), ...rows.map(row)].join("\n");
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

/** `page` with what stands between `<!-- bench -->` and `<!-- end -->` replaced by the table of all parts. */
export function filled(page: string, parts: Readonly<Record<string, Part>>): string {
  const head = ["What", "Figure (median)", "Compared with", "Command", "Measured, commit"];
  const rows = Object.entries(parts).flatMap(([name, part]) => rowsOf(name, part));
  return page.replace(/(<!-- bench -->)[\s\S]*?(<!-- end -->)/, (_, open: string, close: string) =>
    [open, table(head, rows), close].join("\n\n"),
  );
}
