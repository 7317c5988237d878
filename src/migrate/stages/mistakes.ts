import { type JsonPath, pathText } from "../json-path.ts";
import type { ReadBodies, ReadProblem, V2Source } from "../read/source.ts";
import type { MigrationProblem } from "../report/report.ts";

/** Something for which a body is not migrated. */
export interface Mistake {
  readonly code: string;
  readonly source: V2Source;
  readonly path: JsonPath;
  readonly message: string;
  /** Others that it concerns. */
  readonly also?: readonly V2Source[];
}

/** All problems of a document with their places, in its order. */
export function problemsOf(mistakes: readonly Mistake[], read: ReadBodies): readonly MigrationProblem[] {
  return [...read.problems.map(reported), ...located(mistakes, read)].sort(inDocumentOrder);
}

function located(mistakes: readonly Mistake[], read: ReadBodies): readonly MigrationProblem[] {
  const places = read.locate?.(mistakes.map(({ source, path }) => ({ source, path })));
  return mistakes.map(({ code, source, path, message }, index) => ({
    code,
    at: source.at,
    field: path.length === 0 ? null : pathText(path),
    line: places?.[index]?.line ?? null,
    column: places?.[index]?.column ?? null,
    message,
  }));
}

function inDocumentOrder(a: MigrationProblem, b: MigrationProblem): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

function reported({ code, at, line, column, message }: ReadProblem): MigrationProblem {
  return { code, at, field: null, line, column, message };
}
