import { dependentsOf } from "../makespan.ts";
import type { Plan } from "../plan.ts";

/** Where a step stands: its column counts from the left, its row from the top. */
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
