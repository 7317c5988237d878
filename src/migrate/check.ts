import type { Body } from "./body.ts";
import { FieldReport } from "./field-report.ts";
import { isRecord, type JsonPath, kindOf, pathText } from "./json-path.ts";
import type { MigrationContext } from "./migration-context.ts";
import { TYPE_FACTS } from "./models/need.ts";
import { kebab } from "./names.ts";
import { type ReadBodies, readProblem, type V2Source } from "./read/source.ts";
import { isTemplate } from "./read/template.ts";
import type { MigrationProblem } from "./report/report.ts";
import { ANSWER_FIELDS, type Fields, fieldsOf, isV2Type, type Shape, V2_TYPES, type V2Type } from "./v2-types.ts";

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
  const all = [
    ...read.problems.map((one) => ({ ...one, field: null })),
    ...mistakes.map(({ code, source, path, message }) => ({
      ...readProblem(code, source.at, [...source.path, ...path], message),
      field: path.length === 0 ? null : pathText(path),
    })),
  ];
  const open = all.filter(({ path, line }) => path !== null && line === null);
  const positions = read.locate?.(open.map(({ at, path }) => ({ at, path: path ?? [] })));
  const positionOf = new Map(open.map((one, index) => [one, positions?.[index]]));
  return all
    .map((one) => {
      const { code, at, field, line, column, message } = { ...one, ...positionOf.get(one) };
      return { code, at, field, line, column, message };
    })
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
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

/** One reason for which v2 itself would refuse a body. */
interface BodyMistake {
  readonly code: "unknown-type" | "wrong-type" | "required" | "range";
  readonly path: JsonPath;
  readonly message: string;
}

/** The type of a body, or why it has none. */
function typeOf(body: { readonly [key: string]: unknown }): V2Type | BodyMistake {
  const { type } = body;
  if (isV2Type(type)) return type;
  const known = `types are ${V2_TYPES.join(", ")}`;
  if (type === undefined) return { code: "required", path: [], message: `has no type, so it is no v2 body; ${known}` };
  const shown = typeof type === "string" ? JSON.stringify(type) : kindOf(type);
  return { code: "unknown-type", path: ["type"], message: `${shown} is no type of a v2 body; ${known}` };
}

/** Everything in a body that v2 would refuse; unknown fields are accepted, omitted and reported. */
function mistakesIn(body: { readonly [key: string]: unknown }, type: V2Type): readonly BodyMistake[] {
  return recordMistakes(body, { ...ANSWER_FIELDS, ...fieldsOf(type) }, []);
}

function recordMistakes(
  value: { readonly [key: string]: unknown },
  fields: Fields,
  path: JsonPath,
): readonly BodyMistake[] {
  return Object.entries(fields).flatMap(([name, { shape, isRequired }]): readonly BodyMistake[] => {
    const found = Object.hasOwn(value, name) ? value[name] : undefined;
    const at = [...path, name];
    if (found !== undefined && found !== null) return valueMistakes(found, shape, at);
    return isRequired ? [{ code: "required", path, message: `${pathText(at)} is required` }] : [];
  });
}

function valueMistakes(value: unknown, shape: Shape, path: JsonPath): readonly BodyMistake[] {
  const wrong = (requested: string): readonly BodyMistake[] => [
    {
      code: "wrong-type",
      path,
      message: `${pathText(path)} must be ${requested}, not ${isScalar(value) ? `the ${typeof value} ${JSON.stringify(value).slice(0, 40)}` : kindOf(value)}`,
    },
  ];
  // A template's value at run time may have any type.
  if (isTemplate(value)) return [];
  switch (shape.is) {
    case "text":
    case "word":
    case "url":
      return typeof value === "string" ? [] : wrong("text");
    case "id":
      return typeof value === "string" && value !== "" ? [] : wrong("an id");
    case "boolean":
      return typeof value === "boolean" ? [] : wrong("true or false");
    case "choice":
      return choiceMistakes(value, shape.of, path) ?? wrong(`one of ${shape.of.join(", ")}`);
    case "number":
      return numberMistakes(value, shape, path) ?? wrong(shape.integer ? "a whole number" : "a number");
    case "point":
      return isPoint(value) || (Array.isArray(value) && value.every(isPoint))
        ? []
        : wrong("a point [x, y] or a list of points");
    case "ids":
      if (shape.orOne && typeof value === "string") return [];
      return Array.isArray(value)
        ? each(value, { is: "id" }, path)
        : wrong(shape.orOne ? "an id or a list of ids" : "a list of ids");
    case "list":
      return Array.isArray(value) ? each(value, shape.item, path) : wrong("a list");
    case "record":
      return isRecord(value) ? recordMistakes(value, shape.fields, path) : wrong("an object");
    case "answer":
      return [];
    default:
      return shape satisfies never;
  }
}

function each(list: readonly unknown[], item: Shape, path: JsonPath): readonly BodyMistake[] {
  return list.flatMap((value, index) => valueMistakes(value, item, [...path, index]));
}

function choiceMistakes(value: unknown, of: readonly string[], path: JsonPath): readonly BodyMistake[] | null {
  if (typeof value !== "string") return null;
  if (of.includes(value)) return [];
  return [{ code: "range", path, message: `${pathText(path)} is ${JSON.stringify(value)}; v2 takes ${of.join(", ")}` }];
}

function numberMistakes(
  value: unknown,
  { min = -Infinity, max = Infinity, integer }: Extract<Shape, { readonly is: "number" }>,
  path: JsonPath,
): readonly BodyMistake[] | null {
  if (typeof value !== "number" || (integer && !Number.isSafeInteger(value))) return null;
  if (value >= min && value <= max) return [];
  const bounds = max === Infinity ? `at least ${min}` : `${min} to ${max}`;
  return [{ code: "range", path, message: `${pathText(path)} is ${value}; v2 takes ${bounds}` }];
}

const isPoint = (value: unknown) =>
  Array.isArray(value) && value.length === 2 && value.every((one) => typeof one === "number");

const isScalar = (value: unknown) => value !== undefined && typeof value !== "object";
