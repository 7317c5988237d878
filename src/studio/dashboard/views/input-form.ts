import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { own } from "../../../core/kit/lookup.ts";
import { suggestedValues } from "../../../core/plan/index.ts";
import type { Json } from "../../../index.ts";
import { inputSchema } from "../../served/index.ts";
import { cut } from "./page-step.ts";

export interface FieldView {
  readonly name: string;
  readonly description: string | null;
  readonly required: boolean;
  readonly control: Control;
}

export type Control =
  | {
      readonly type: "text";
      readonly minLength: number;
      readonly maxLength: number | null;
      readonly suggested?: readonly string[];
    }
  | { readonly type: "number"; readonly isInteger: boolean; readonly min: number | null; readonly max: number | null }
  | { readonly type: "switch" }
  | { readonly type: "choice"; readonly values: readonly (string | number)[] }
  | { readonly type: "file"; readonly kind: string }
  | { readonly type: "list"; readonly item: Control; readonly min: number; readonly max: number | null }
  | { readonly type: "group"; readonly fields: readonly FieldView[] }
  | { readonly type: "json" };

type Fields = readonly FieldView[] | null;

interface Schema {
  readonly type?: unknown;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly showrunnerFile?: string;
}

const MOST_LEVELS = 3;

export function inputForm(input: z.ZodType): { readonly sample: string; readonly fields: Fields } {
  try {
    const schema = inputSchema(input) as Schema;
    const control = controlOf(schema, MOST_LEVELS);
    const sample = JSON.stringify(initialValue(schema), null, 2);
    return { sample, fields: control.type === "group" ? control.fields : null };
  } catch {
    return { sample: "{}", fields: null };
  }
}

/**
 * Builds a form for a step's input. It contains the fields in `plain`, then the model's numbers, switches, choices and
 * texts with suggestions, except those in `given`.
 */
export function stepForm(
  schema: { readonly properties?: unknown },
  plain: Readonly<Record<string, Json>>,
  given: readonly string[],
): { readonly fields: Fields; readonly why: string | null; readonly text: string } {
  const known = (schema.properties ?? {}) as Readonly<Record<string, Schema>>;
  const { required = [] } = schema as Schema;
  const field = (name: string, control: Control) =>
    fieldOf(name, own(known, name)?.description, required.includes(name), control);
  const present = Object.entries(plain).map(([name, value]) =>
    field(name, controlOf(own(known, name) ?? schemaOf(value), MOST_LEVELS)),
  );
  const more = Object.entries(known).flatMap(([name, one]) => {
    const control = given.includes(name) ? null : controlOf(one, MOST_LEVELS);
    const isSmall = control !== null && (SMALL.has(control.type) || (control.type === "text" && control.suggested));
    return isSmall ? [field(name, control)] : [];
  });
  const fields = [...present, ...more];
  return { fields: fields.length === 0 ? null : fields, why: null, text: JSON.stringify(plain, null, 2) };
}

function fieldOf(name: string, about: string | undefined, required: boolean, control: Control): FieldView {
  return { name, description: about === undefined ? null : cut(about, 500), required, control };
}

const SMALL: ReadonlySet<Control["type"]> = new Set(["number", "switch", "choice"]);

export function shownValueOf(value: Json, schema: Json | null) {
  return { value, control: controlOf(schema === null ? schemaOf(value) : (schema as Schema), MOST_LEVELS) };
}

function schemaOf(value: Json): Schema {
  if (["string", "number", "boolean"].includes(typeof value)) return { type: typeof value };
  if (typeof value !== "object" || value === null) return {};
  if (!Array.isArray(value)) {
    const properties = Object.fromEntries(Object.entries(value).map(([name, item]) => [name, schemaOf(item)]));
    return { type: "object", properties, required: Object.keys(value) };
  }
  const [first = {}, ...others] = value.map(schemaOf);
  return others.every((one) => isDeepStrictEqual(one, first)) ? { type: "array", items: first } : {};
}

function controlOf(schema: Schema, levels: number): Control {
  if (schema.showrunnerFile !== undefined) return { type: "file", kind: schema.showrunnerFile };
  const values = choiceOf(schema);
  if (values !== null) return { type: "choice", values };
  const { type, minLength = 0, maxLength = null, minimum: min = null, maximum: max = null } = schema;
  const suggested = suggestedValues({ ...schema });
  if (suggested !== null) return { type: "text", minLength, maxLength, suggested };
  if (type === "string") return { type: "text", minLength, maxLength };
  if (type === "integer" || type === "number") {
    // zod sets the bounds of safe integers on every integer, so they are not shown.
    const bounded = (limit: number | null) =>
      limit !== null && Number.isSafeInteger(limit + Math.sign(limit)) ? limit : null;
    return { type: "number", isInteger: type === "integer", min: bounded(min), max: bounded(max) };
  }
  if (type === "boolean") return { type: "switch" };
  if (levels === 0) return { type: "json" };
  if (type === "array" && schema.items !== undefined) {
    const item = controlOf(schema.items, levels - 1);
    return { type: "list", item, min: schema.minItems ?? 0, max: schema.maxItems ?? null };
  }
  if (type !== "object" || schema.properties === undefined) return { type: "json" };
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties).map(([name, field]) =>
    fieldOf(name, field.description, required.has(name), controlOf(field, levels - 1)),
  );
  return { type: "group", fields };
}

function choiceOf(schema: Schema): readonly (string | number)[] | null {
  const { anyOf } = schema;
  const values = schema.enum ?? (schema.const !== undefined ? [schema.const] : anyOf?.map((one) => one.const));
  const isChoice = values?.every((value) => typeof value === "string" || typeof value === "number");
  return isChoice === true && values!.length > 0 ? (values as (string | number)[]) : null;
}

function initialValue(schema: Schema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.showrunnerFile !== undefined) return "";
  const choice = choiceOf(schema) ?? suggestedValues({ ...schema });
  if (choice !== null) return choice[0];
  switch (schema.type) {
    case "string":
      return "";
    case "boolean":
      return false;
    case "integer":
    case "number":
      return Math.max(schema.minimum ?? 0, 0);
    case "array":
      return Array.from({ length: schema.minItems ?? 0 }, () => initialValue(schema.items ?? {}));
    case "object": {
      const fields = Object.entries(schema.properties ?? {});
      const asked = fields.filter(([name, field]) => schema.required?.includes(name) || field.default !== undefined);
      return Object.fromEntries(asked.map(([name, field]) => [name, initialValue(field)]));
    }
    default:
      return null;
  }
}
