import stringWidth from "fast-string-width";

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Columns that a text takes on a terminal: two for an ideograph or an emoji, none for a combining mark. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

/** At most `width` columns, the end replaced by an ellipsis. */
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

/** Filled with spaces up to `width` columns. */
export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

/** `1 job`, `2 jobs`, `3 bodies`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: "right";
  /** True: shortened when the terminal is narrow. */
  readonly flexible?: boolean;
}

const gap = "  ";

/**
 * Rows under bold-free titles, columns as wide as their longest cell. When `width` is given and too small, flexible
 * columns give way first. Cells must be safe text without line breaks.
 */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], width?: number): string {
  const cells = [
    columns.map((column) => column.title),
    ...rows.map((row) => columns.map((column) => column.value(row))),
  ];
  const widths = columns.map((_, at) => cells.reduce((most, row) => Math.max(most, widthOf(row[at] ?? "")), 0));
  if (width !== undefined) squeeze(widths, columns, width);
  return cells.map((row) => line(row, widths, columns)).join("\n");
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
      return columns[at]?.align === "right" ? padded.slice(text.length) + text : padded;
    })
    .join(gap)
    .trimEnd();
}
