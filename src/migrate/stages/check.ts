import type { Body } from "../body.ts";
import { FieldReport } from "../field-report.ts";
import { isRecord, type JsonPath, pathText } from "../json-path.ts";
import type { MigrationContext } from "../migration-context.ts";
import { TYPE_FACTS } from "../models/choose.ts";
import { kebab } from "../names.ts";
import type { ReadBodies, ReadProblem, V2Source } from "../read/source.ts";
import type { MigrationProblem } from "../report/report.ts";
import { mistakesIn, typeOf } from "../v2/check.ts";
import type { V2Type } from "../v2/types.ts";

/** A reason not to migrate a body. */
export interface Mistake {
  readonly code: string;
  readonly source: V2Source;
  readonly path: JsonPath;
  readonly message: string;
  /** Other bodies that it concerns. */
  readonly also?: readonly V2Source[];
}

/** All problems of a document with their locations, in document order. */
export function problemsOf(mistakes: readonly Mistake[], read: ReadBodies): readonly MigrationProblem[] {
  return [...read.problems.map(reported), ...located(mistakes, read)].sort(inDocumentOrder);
}

function located(mistakes: readonly Mistake[], read: ReadBodies): readonly MigrationProblem[] {
  const positions = read.locate?.(mistakes.map(({ source, path }) => ({ source, path })));
  return mistakes.map(({ code, source, path, message }, index) => ({
    code,
    at: source.at,
    field: path.length === 0 ? null : pathText(path),
    line: positions?.[index]?.line ?? null,
    column: positions?.[index]?.column ?? null,
    message,
  }));
}

function inDocumentOrder(a: MigrationProblem, b: MigrationProblem): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

function reported({ code, at, line, column, message }: ReadProblem): MigrationProblem {
  return { code, at, field: null, line, column, message };
}

/** A source that v2 would accept. */
export type Checked = { readonly index: number; readonly source: V2Source } & (
  | { readonly is: "asset"; readonly value: { readonly [key: string]: unknown } }
  | { readonly is: "body"; readonly body: Body }
);

/** Separates what v2 would refuse. */
export function check(
  sources: readonly V2Source[],
  context: MigrationContext,
): { bodies: readonly Checked[]; mistakes: readonly Mistake[] } {
  const bodies: Checked[] = [];
  const mistakes: Mistake[] = [];
  for (const [index, source] of sources.entries()) {
    const { value } = source;
    if (!isRecord(value)) {
      mistakes.push({ code: "not-a-body", source, path: [], message: "is not an object, so it is no v2 body" });
      continue;
    }
    if (source.is === "asset") {
      const kind = (["image", "video", "audio"] as const).find((one) => one === value.type) ?? null;
      context.assets.set(index, {
        name: String(value.name ?? source.label ?? "asset"),
        kind: value.type === "voice" ? "audio" : kind,
      });
      bodies.push({ index, source, is: "asset", value });
      continue;
    }
    const type = typeOf(value);
    const found = typeof type === "string" ? mistakesIn(value, type) : [type];
    for (const { code, path, message } of found) mistakes.push({ code, source, path, message });
    if (typeof type !== "string" || found.length > 0) continue;
    const body = {
      index,
      source,
      type,
      value,
      fieldReport: new FieldReport(value),
      name: nameFor(value, type, index, source, context),
    };
    bodies.push({ index, source, is: "body", body });
  }
  return { bodies, mistakes };
}

/** The body's own name, else the node's, else type and index, so that report and source are easy to compare. */
function nameFor(
  value: { readonly [key: string]: unknown },
  type: V2Type,
  index: number,
  source: V2Source,
  context: MigrationContext,
): string {
  const own = typeof value.name === "string" && !/[{}]/.test(value.name) ? kebab(value.name) : null;
  const label = source.label === null ? null : kebab(source.label.replace(/^(?:generate|create|make|render)\s+/i, ""));
  const name = own ?? label ?? `${index + 1}`;
  return context.names.reserve(/^\d/.test(name) ? `${TYPE_FACTS[type].short}-${name}` : name);
}
