import type { Body } from "./body.ts";
import { FieldReport } from "./field-report.ts";
import type { MigrationContext } from "./migration-context.ts";
import { TYPE_FACTS } from "./models/need.ts";
import { kebab } from "./names.ts";
import {
  isRecord,
  isTemplate,
  type JsonPath,
  type JsonRecord,
  kindOf,
  pathText,
  type ReadBodies,
  readProblem,
  type V2Source,
} from "./read/source.ts";
import type { MigrationProblem } from "./report/report.ts";
import {
  ANSWER_FIELDS,
  fieldsOf,
  isV2Type,
  type Shape,
  type ShapedValue,
  V2_TYPES,
  type V2Type,
  valuesOf,
} from "./v2-types.ts";

export interface Mistake {
  readonly code: string;
  readonly source: V2Source;
  readonly path: JsonPath;
  readonly message: string;
  readonly also?: readonly V2Source[];
}

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

export type Checked = { readonly index: number; readonly source: V2Source } & (
  | { readonly is: "asset"; readonly value: JsonRecord }
  | { readonly is: "body"; readonly body: Body }
);

export function check(
  sources: readonly V2Source[],
  context: MigrationContext,
): { bodies: readonly Checked[]; mistakes: readonly Mistake[] } {
  const bodies: Checked[] = [];
  const mistakes: Mistake[] = [];
  for (const [index, source] of sources.entries()) {
    const { value } = source;
    if (!isRecord(value)) {
      mistakes.push({ code: "not-a-body", source, path: [], message: "is not an object, so it is not a v2 body" });
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
      name: context.names.reserve(nameFor(value, type, index, source)),
    };
    bodies.push({ index, source, is: "body", body });
  }
  return { bodies, mistakes };
}

function nameFor(value: JsonRecord, type: V2Type, index: number, { label: given }: V2Source): string {
  const own = typeof value.name === "string" && !/[{}]/.test(value.name) ? kebab(value.name) : null;
  const label = given === null ? null : kebab(given.replace(/^(?:generate|create|make|render)\s+/i, ""));
  const name = own ?? label ?? `${index + 1}`;
  return /^\d/.test(name) ? `${TYPE_FACTS[type].short}-${name}` : name;
}

type BodyMistake = Pick<Mistake, "code" | "path" | "message">;

function typeOf(body: JsonRecord): V2Type | BodyMistake {
  const { type } = body;
  if (isV2Type(type)) return type;
  const known = `the types are ${V2_TYPES.join(", ")}`;
  if (type === undefined)
    return { code: "required", path: [], message: `has no type, so it is not a v2 body; ${known}` };
  const shown = typeof type === "string" ? JSON.stringify(type) : kindOf(type);
  return { code: "unknown-type", path: ["type"], message: `${shown} is not a v2 body type; ${known}` };
}

function mistakesIn(body: JsonRecord, type: V2Type): readonly BodyMistake[] {
  return valuesOf(body, { ...ANSWER_FIELDS, ...fieldsOf(type) }).flatMap((one) => mistakeIn(one) ?? []);
}

function mistakeIn({ path, value, shape }: ShapedValue): BodyMistake | null {
  const field = pathText(path);
  if (value === undefined) return { code: "required", path: path.slice(0, -1), message: `${field} is required` };
  // A template's value at run time may have any type.
  if (isTemplate(value)) return null;
  const [type, accepts] = typeCheck(shape);
  if (!accepts(value)) {
    const found = typeof value === "object" ? kindOf(value) : `the ${typeof value} ${shortJson(value)}`;
    return { code: "wrong-type", path, message: `${field} must be ${type}, not ${found}` };
  }
  const range = rangeMissed(value, shape);
  return range === null
    ? null
    : { code: "range", path, message: `${field} is ${shortJson(value)}; v2 accepts ${range}` };
}

const shortJson = (value: unknown) => JSON.stringify(value).slice(0, 40);
const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number";
const isPoint = (value: unknown) => Array.isArray(value) && value.length === 2 && value.every(isNumber);
const isPointOrPoints = (value: unknown) => isPoint(value) || (Array.isArray(value) && value.every(isPoint));

function typeCheck(shape: Shape): readonly [type: string, accepts: (value: unknown) => boolean] {
  switch (shape.is) {
    case "text":
    case "url":
      return ["text", isText];
    case "id":
      return ["an id", (value) => isText(value) && value !== ""];
    case "boolean":
      return ["true or false", (value) => typeof value === "boolean"];
    case "choice":
      return [`one of ${shape.of.join(", ")}`, isText];
    case "number":
      return shape.integer ? ["a whole number", Number.isSafeInteger] : ["a number", isNumber];
    case "point":
      return ["a point [x, y] or a list of points", isPointOrPoints];
    case "list":
      if (shape.orOne) return ["an id or a list of ids", isText];
      return [shape.item.is === "id" ? "a list of ids" : "a list", () => false];
    case "record":
      return ["an object", () => false];
    case "answer":
      return ["", () => true];
    default:
      return shape satisfies never;
  }
}

function rangeMissed(value: unknown, shape: Shape): string | null {
  if (shape.is === "choice") return shape.of.some((one) => one === value) ? null : shape.of.join(", ");
  if (shape.is !== "number") return null;
  const { min, max } = shape;
  if (Number(value) >= min && Number(value) <= max) return null;
  return max === Infinity ? `at least ${min}` : `${min} to ${max}`;
}
