/** Makes the table of docs/internal/performance.md from what the bench stored. Pure. */
import { curveCells, figureCells, type ResultFile } from "./harness.ts";
import type { Figure } from "./stats.ts";

type Part = ResultFile["parts"][string];

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

/** `page` with what stands between `<!-- bench -->` and `<!-- end -->` replaced by the table of all parts. */
export function filled(page: string, parts: Readonly<Record<string, Part>>): string {
  const head = ["What", "Figure (median)", "Compared with", "Command", "Measured, commit"];
  const rows = Object.entries(parts).flatMap(([name, part]) => rowsOf(name, part));
  return page.replace(/(<!-- bench -->)[\s\S]*?(<!-- end -->)/, (_, open: string, close: string) =>
    [open, table(head, rows), close].join("\n\n"),
  );
}
