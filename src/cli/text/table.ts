import stringWidth from "fast-string-width";

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Returns the width in terminal columns: two for an ideograph or emoji, none for a combining mark. */
export const widthOf: (text: string) => number = stringWidth;

export function shorten(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let short = "";
  let left = width - 1;
  for (const { segment } of graphemes.segment(text)) {
    left -= widthOf(segment);
    if (left < 0) break;
    short += segment;
  }
  return `${short}…`;
}

export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Returns the lines of the first `most` items, followed by a line that counts the other items, if any. */
export function firstLines<T>(
  items: readonly T[],
  most: number,
  line: (item: T) => string,
  others = "more",
): readonly string[] {
  const lines = items.slice(0, most).map(line);
  return items.length > most ? [...lines, `… and ${items.length - most} ${others}`] : lines;
}

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  /** Alignment of the column. Default: left. `money` aligns amounts at their decimal points. */
  readonly align?: "right" | "money";
  readonly flexible?: boolean;
  /** Whether the column can be omitted on a narrow terminal. The last such column is omitted first. */
  readonly optional?: boolean;
}

const gap = "  ";

export function table<Row>(rows: readonly Row[], all: readonly Column<Row>[], width?: number): string {
  const columns = width === undefined ? all : fitting(rows, all, width);
  const cells = [
    columns.map((column) => column.title),
    ...aligned(
      rows.map((row) => columns.map((column) => column.value(row))),
      columns,
    ),
  ];
  const widths = columns.map((_, at) => cells.reduce((most, row) => Math.max(most, widthOf(row[at] ?? "")), 0));
  if (width !== undefined) squeeze(widths, columns, width);
  return cells.map((row) => line(row, widths, columns)).join("\n");
}

/** Width in characters to which a flexible column may shrink before optional columns are omitted. */
const LEAST_FLEXIBLE = 12;

function fitting<Row>(rows: readonly Row[], all: readonly Column<Row>[], width: number): readonly Column<Row>[] {
  const least = ({ title, value, flexible }: Column<Row>) => {
    const widest = rows.reduce((most, row) => Math.max(most, widthOf(value(row))), widthOf(title));
    return flexible ? Math.min(LEAST_FLEXIBLE, widest) : widest;
  };
  let columns = all;
  for (;;) {
    const needed = columns.reduce((sum, column) => sum + least(column) + gap.length, -gap.length);
    const last = columns.findLast(({ optional }) => optional);
    if (needed <= width || last === undefined) return columns;
    columns = columns.filter((column) => column !== last);
  }
}

function aligned(
  rows: readonly (readonly string[])[],
  columns: readonly Column<never>[],
): readonly (readonly string[])[] {
  // Whole cents have two decimal places. Any other text is padded as if it had two.
  const places = (cell = "") => /\d\.(\d+)$/.exec(cell)?.[1]?.length ?? 2;
  const finest = columns.map(({ align }, at) =>
    align === "money" ? rows.reduce((most, row) => Math.max(most, places(row[at])), 2) : null,
  );
  return rows.map((row) =>
    row.map((cell, at) => (finest[at] == null ? cell : cell + " ".repeat(finest[at] - places(cell)))),
  );
}

function squeeze(widths: number[], columns: readonly Column<never>[], width: number): void {
  const total = () => widths.reduce((sum, one) => sum + one, 0) + gap.length * (widths.length - 1);
  while (total() > width) {
    const flexible = widths.map((one, at) => (columns[at]?.flexible && one > 6 ? one : 0));
    const widest = Math.max(...flexible);
    if (widest === 0) return;
    widths[flexible.indexOf(widest)] = Math.max(6, widest - (total() - width));
  }
}

function line(row: readonly string[], widths: readonly number[], columns: readonly Column<never>[]): string {
  return row
    .map((cell, at) => {
      const text = shorten(cell, widths[at] ?? 0);
      const padded = padEnd(text, widths[at] ?? 0);
      return columns[at]?.align === undefined ? padded : padded.slice(text.length) + text;
    })
    .join(gap)
    .trimEnd();
}
