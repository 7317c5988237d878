import { isRecord, type JsonPath, kindOf, pathText } from "../json-path.ts";
import { isTemplate } from "../read/template.ts";
import {
  ANSWER_FIELDS,
  type Field,
  type Fields,
  fieldsOf,
  isV2Type,
  type Shape,
  V2_TYPES,
  type V2Type,
} from "./types.ts";

/** One reason for which v2 itself would refuse a body. */
export interface BodyMistake {
  readonly code: "unknown-type" | "wrong-type" | "required" | "range";
  readonly path: JsonPath;
  readonly message: string;
}

/** The type of a body, or why it has none. */
export function typeOf(body: { readonly [key: string]: unknown }): V2Type | BodyMistake {
  const { type } = body;
  if (isV2Type(type)) return type;
  const known = `types are ${V2_TYPES.join(", ")}`;
  if (type === undefined) return { code: "required", path: [], message: `has no type, so it is no v2 body; ${known}` };
  const shown = typeof type === "string" ? JSON.stringify(type) : kindOf(type);
  return { code: "unknown-type", path: ["type"], message: `${shown} is no type of a v2 body; ${known}` };
}

/** Everything in a body that v2 would refuse; unknown fields are accepted, omitted and reported. */
export function mistakesIn(body: { readonly [key: string]: unknown }, type: V2Type): readonly BodyMistake[] {
  return recordMistakes(body, { ...ANSWER_FIELDS, ...fieldsOf(type) }, []);
}

function recordMistakes(
  value: { readonly [key: string]: unknown },
  fields: Fields,
  path: JsonPath,
): readonly BodyMistake[] {
  return Object.entries(fields).flatMap(([name, field]) => fieldMistakes(value, name, field, path));
}

function fieldMistakes(
  around: { readonly [key: string]: unknown },
  name: string,
  { shape, isRequired }: Field,
  path: JsonPath,
): readonly BodyMistake[] {
  const value = Object.hasOwn(around, name) ? around[name] : undefined;
  const at = [...path, name];
  if (value !== undefined && value !== null) return valueMistakes(value, shape, at);
  if (!isRequired) return [];
  return [{ code: "required", path, message: `${pathText(at)} is required` }];
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
  {
    min = -Infinity,
    max = Infinity,
    integer,
  }: { readonly min?: number; readonly max?: number; readonly integer?: true },
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
