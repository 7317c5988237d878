import { traitsOf } from "../kinds/index.ts";
import { dependentsOf } from "../makespan.ts";
import type { Plan, PlanStep } from "../plan.ts";

/** The position of a step: its column counts from the left, its row from the top. */
export interface Cell {
  readonly column: number;
  readonly row: number;
}

export interface Layout {
  readonly cells: ReadonlyMap<string, Cell>;
  readonly columns: number;
  readonly rows: number;
}

/**
 * Every step right of all it needs and as near as may be to its first use, in rows near those of its neighbours, so that
 * edges are short and few cross.
 */
export function layOut(plan: Plan): Layout {
  const users = new Map([...dependentsOf(plan)].map(([path, steps]) => [path, steps.map((step) => step.path)]));
  const needs = new Map(plan.steps.map((step) => [step.path, step.needs]));
  const columnOf = assignColumns(plan, users);
  const columns: string[][] = [];
  for (const { path } of plan.steps) {
    const column = columnOf.get(path) ?? 0;
    columns[column] ??= [];
    columns[column].push(path);
  }
  const rowOf = new Map<string, number>();
  for (const column of columns) number(column, rowOf);
  for (const column of columns) sortBy(column, rowOf, (path) => needs.get(path) ?? []);
  for (const column of columns.toReversed()) sortBy(column, rowOf, (path) => users.get(path) ?? []);
  const cells = new Map(plan.steps.map(({ path }) => [path, { column: columnOf.get(path)!, row: rowOf.get(path)! }]));
  const rows = columns.reduce((most, column) => Math.max(most, column.length), 0);
  return { cells, columns: columns.length, rows };
}

function assignColumns(plan: Plan, users: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, number> {
  const columnOf = new Map<string, number>();
  const at = (path: string) => columnOf.get(path) ?? 0;
  for (const { path, needs } of plan.steps) {
    columnOf.set(
      path,
      needs.reduce((most, needed) => Math.max(most, at(needed) + 1), 0),
    );
  }
  for (const { path } of plan.steps.toReversed()) {
    const used = users.get(path) ?? [];
    if (used.length > 0)
      columnOf.set(
        path,
        used.reduce((least, user) => Math.min(least, at(user) - 1), Infinity),
      );
  }
  return columnOf;
}

/** Orders a column by the middle of each step's neighbours; a step without any keeps its place. */
function sortBy(column: string[], rowOf: Map<string, number>, neighbours: (path: string) => readonly string[]): void {
  const middle = new Map(
    column.map((path) => {
      const rows = neighbours(path).map((neighbour) => rowOf.get(neighbour) ?? 0);
      const own = rowOf.get(path) ?? 0;
      return [path, rows.length === 0 ? own : rows.reduce((sum, row) => sum + row, 0) / rows.length];
    }),
  );
  column.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0));
  number(column, rowOf);
}

function number(column: readonly string[], rowOf: Map<string, number>): void {
  for (const [row, path] of column.entries()) rowOf.set(path, row);
}

/** Pixels. */
const BOX = { width: 168, height: 46 };
const GAP = { across: 56, down: 18 };
const MARGIN = 16;
const MAX_CHARACTERS = 24;

const STYLE = `
  .step rect { fill: #fff; stroke: #5b6470; stroke-width: 1.25 }
  .step .name { font: 600 12px system-ui, sans-serif; fill: #1b1f24 }
  .step .note { font: 11px system-ui, sans-serif; fill: #59636e }
  .upload rect { stroke-dasharray: 4 3 } .task rect { stroke-dasharray: 1 2 } .value rect { fill: #f2f4f6 }
  .approve rect { stroke: #7c3aed; stroke-width: 2 } .expand rect { stroke-width: 3; stroke-dasharray: 8 3 }
  .image rect { fill: #eaf3ff } .video rect { fill: #eefbef } .audio rect { fill: #fff6e5 } .voice rect { fill: #f7eeff }
  .critical rect { stroke: #c2410c; stroke-width: 2.5 }
  .edge { fill: none; stroke: #8c959f; stroke-width: 1.25 }
  .edge.critical { stroke: #c2410c; stroke-width: 2 }`;

/** The plan as a picture: a self-contained SVG document that needs no script and no font of its own. */
export function planSvg(plan: Plan, options: DiagramOptions = {}): string {
  const { cells, columns, rows } = layOut(plan);
  const highlighted = new Set(options.highlighted);
  const width = 2 * MARGIN + Math.max(1, columns) * (BOX.width + GAP.across) - GAP.across;
  const height = 2 * MARGIN + Math.max(1, rows) * (BOX.height + GAP.down) - GAP.down;
  const edges = plan.steps.flatMap(({ path, needs }) =>
    needs.map((needed) => {
      const isCritical = highlighted.has(path) && highlighted.has(needed);
      return edge(cells.get(needed)!, cells.get(path)!, isCritical);
    }),
  );
  const boxes = plan.steps.map((step) =>
    box(step, cells.get(step.path)!, {
      note: noteOf(step, options),
      classes: [options.classOf?.(step) ?? "", highlighted.has(step.path) ? "critical" : ""],
    }),
  );
  const count = plan.steps.length === 1 ? "1 step" : `${plan.steps.length} steps`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${text(plan.pipeline)}: ${count}</title>`,
    ...(options.unstyled ? [] : [`<style>${STYLE}\n</style>`, `<rect width="100%" height="100%" fill="#fff"/>`]),
    ...edges,
    ...boxes,
    "</svg>",
    "",
  ].join("\n");
}

function corner({ column, row }: Cell): { readonly x: number; readonly y: number } {
  return { x: MARGIN + column * (BOX.width + GAP.across), y: MARGIN + row * (BOX.height + GAP.down) };
}

interface BoxStyle {
  readonly note: string;
  readonly classes: readonly string[];
}

function box(step: PlanStep, cell: Cell, style: BoxStyle): string {
  const { x, y } = corner(cell);
  const classes = ["step", step.kind, step.yields, ...style.classes]
    .filter((name) => /^[\w-]+$/.test(name ?? ""))
    .join(" ");
  return [
    `<g class="${classes}" transform="translate(${x} ${y})">`,
    `<title>${text(`${step.path}: ${style.note}`)}</title>`,
    `<rect width="${BOX.width}" height="${BOX.height}" rx="8"/>`,
    `<text class="name" x="10" y="19">${text(cut(step.path))}</text>`,
    `<text class="note" x="10" y="36">${text(cut(style.note))}</text>`,
    "</g>",
  ].join("");
}

function edge(from: Cell, to: Cell, isCritical: boolean): string {
  const start = corner(from);
  const end = corner(to);
  const [x1, y1] = [start.x + BOX.width, start.y + BOX.height / 2];
  const [x2, y2] = [end.x, end.y + BOX.height / 2];
  const bend = GAP.across / 2;
  const path = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  return `<path class="edge${isCritical ? " critical" : ""}" d="${path}"/>`;
}

function cut(value: string): string {
  const characters = [...value];
  return characters.length <= MAX_CHARACTERS ? value : `${characters.slice(0, MAX_CHARACTERS - 1).join("")}…`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Text of a document: markup escaped, control characters, which XML cannot hold, as spaces. */
function text(value: string): string {
  return value.replace(/\p{Cc}/gu, " ").replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

export interface DiagramOptions {
  /** A second line under the name of a step, such as its price. Default: its model, or what it uploads. */
  readonly note?: (step: PlanStep) => string;
  /** Steps to stand out, such as those of the critical path. */
  readonly highlighted?: readonly string[];
  /** A class for the group of a step, such as its status, for a page that has its own style. Letters, digits and `-`. */
  readonly classOf?: (step: PlanStep) => string;
  /** True: no style and no ground of its own, because the page that holds the picture brings them. SVG only. */
  readonly unstyled?: boolean;
}

export function noteOf(step: PlanStep, { note }: DiagramOptions): string {
  return note === undefined ? traitsOf(step).note : note(step);
}

/** The plan as a Mermaid flowchart, left to right. */
export function planMermaid(plan: Plan, options: DiagramOptions = {}): string {
  const ids = new Map(plan.steps.map(({ path }, index) => [path, `s${index}`]));
  const highlighted = new Set(options.highlighted);
  const lines = ["flowchart LR"];
  for (const step of plan.steps) lines.push(`  ${ids.get(step.path)}${shape(step, noteOf(step, options))}`);
  for (const { path, needs } of plan.steps) {
    for (const needed of needs) lines.push(`  ${ids.get(needed)} --> ${ids.get(path)}`);
  }
  const critical = plan.steps.filter(({ path }) => highlighted.has(path)).map(({ path }) => ids.get(path));
  if (critical.length > 0) {
    lines.push("  classDef critical stroke-width:3px", `  class ${critical.join(",")} critical`);
  }
  return `${lines.join("\n")}\n`;
}

function shape(step: PlanStep, note: string): string {
  return traitsOf(step).brackets.join(`"${label(step.path)}<br/>${label(note)}"`);
}

/** Mermaid reads HTML entities in quoted labels. */
function label(value: string): string {
  return value.replace(/[&<>"#;`\n\r]/g, (character) => `#${character.codePointAt(0)};`);
}
