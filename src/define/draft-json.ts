import type { DraftJson, DraftReference } from "../plan/draft.ts";
import type { Problem } from "../plan/plan.ts";
import { type Build, isListPointer, type Pointer, pointerOf, type StepPointer } from "./handle-value.ts";

interface Context {
  readonly step: string | null;
  knows(build: Build): boolean;
  report(problem: Problem): void;
}

/** Inputs nest a handful of levels; this bound only guards against values that never end. */
const MAX_DEPTH = 100;

/** Names that mean something in a planned or a resolved input. */
const RESERVED = ["$ref", "$asset", "$text", "$file"];

/**
 * A value as plain JSON that later changes of the value cannot reach, with handles as references. What JSON cannot hold
 * is reported with its field and left out.
 */
export function draftJson(value: unknown, context: Context & { readonly field: string }): DraftJson {
  return convert(value, context.field, { ...context, depth: 0 }) ?? null;
}

type Inner = Context & { readonly depth: number };

function convert(value: unknown, field: string, context: Inner): DraftJson | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const pointer = pointerOf(value);
  if (pointer !== null) return convertPointer(pointer, field, context);
  if (context.depth >= MAX_DEPTH) return refuse(field, context, "is nested too deeply, or contains itself");
  const inner = { ...context, depth: context.depth + 1 };
  if (Array.isArray(value)) return convertList(value, field, inner);
  if (isPlainObject(value)) return convertObject(value, field, inner);
  return refuse(field, context, `is ${describe(value)}, which JSON cannot hold`);
}

function convertList(list: readonly unknown[], field: string, context: Inner): DraftJson {
  return Array.from(list).flatMap((item, index): DraftJson => {
    const converted = convert(item, `${field}[${index}]`, context) ?? null;
    // Several results spread, as all outputs of one step do when the run puts them in.
    return pointerOf(item)?.to === "several" ? converted : [converted];
  });
}

function convertObject(value: object, field: string, context: Inner): DraftJson {
  const entries: [string, DraftJson][] = [];
  for (const [key, item] of Object.entries(value)) {
    const at = field === "" ? key : `${field}.${key}`;
    if (item === undefined) continue;
    if (RESERVED.some((name) => key.startsWith(name))) {
      refuse(at, context, "is a name kept for references; pass a handle instead", "reserved-field");
      continue;
    }
    const converted = convert(item, at, context);
    if (converted === undefined) continue;
    // In an input, a list handle alone resolves to a list.
    const wraps = context.step !== null && pointerOf(item)?.to === "step" && isListPointer(pointerOf(item));
    entries.push([key, wraps ? [converted] : converted]);
  }
  return Object.fromEntries(entries);
}

function convertPointer(pointer: Pointer, field: string, context: Inner): DraftJson | undefined {
  switch (pointer.to) {
    case "asset":
      return { $asset: { assetId: pointer.assetId, kind: pointer.kind } };
    case "step":
      return reference(pointer, field, context);
    case "several":
      return pointer.pointers.map((one) => reference(one, field, context) ?? null);
    case "text":
      return { $text: pointer.pieces.map((piece) => convertPiece(piece, field, context)) };
    default:
      return pointer satisfies never;
  }
}

function convertPiece(piece: unknown, field: string, context: Inner): DraftJson {
  if (typeof piece === "string") return piece;
  if (typeof piece === "number" || typeof piece === "boolean") return String(piece);
  const pointer = pointerOf(piece);
  const isValue = pointer?.to === "text" || (pointer?.to === "step" && pointer.output === "value");
  if (isValue) return convertPointer(pointer, field, context) ?? "";
  const given = pointer === null ? describe(piece) : "a handle of media";
  refuse(field, context, `has ${given} within text; put text, numbers and values of steps there`, "bad-text");
  return "";
}

function reference(pointer: StepPointer, field: string, context: Context): DraftReference | undefined {
  if (!context.knows(pointer.build)) {
    const said = `is a handle of step ${pointer.step} from another build; use only handles that this build returned`;
    return refuse(field, context, said, "foreign-handle");
  }
  const { step, output, at } = pointer;
  return { $ref: { step, output, ...(at !== undefined && { at }) } };
}

function refuse(field: string, context: Context, said: string, code = "not-json"): undefined {
  context.report({ code, step: context.step, field, message: `${field} ${said}` });
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function describe(value: unknown): string {
  if (value === undefined) return "undefined";
  if (value === null) return "null";
  if (typeof value === "number") return String(value);
  if (typeof value === "object") return `a ${value?.constructor?.name ?? "strange object"}`;
  return `a ${typeof value}`;
}
