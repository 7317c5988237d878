import type { Problem } from "../plan/plan.ts";
import type { DraftJson } from "./draft.ts";
import { type Pointer, pointerOf } from "./handle-value.ts";

interface Context {
  readonly step: string | null;
  readonly build: object;
  report(problem: Problem): void;
}

/** Inputs nest a handful of levels; this bound only guards against values that never end. */
const MAX_DEPTH = 100;

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
  if (pointer !== null) return reference(pointer, field, context);
  if (context.depth >= MAX_DEPTH) return refuse(field, context, "is nested too deeply, or contains itself");
  const inner = { ...context, depth: context.depth + 1 };
  if (Array.isArray(value)) return convertList(value, field, inner);
  if (isPlainObject(value)) return convertObject(value, field, inner);
  return refuse(field, context, `is ${describe(value)}, which JSON cannot hold`);
}

function convertList(list: readonly unknown[], field: string, context: Inner): DraftJson {
  return Array.from(list, (item, index) => convert(item, `${field}[${index}]`, context) ?? null);
}

function convertObject(value: object, field: string, context: Inner): DraftJson {
  const entries: [string, DraftJson][] = [];
  for (const [key, item] of Object.entries(value)) {
    const at = field === "" ? key : `${field}.${key}`;
    if (item === undefined) continue;
    if (key.startsWith("$ref") || key.startsWith("$asset")) {
      refuse(at, context, "is a name kept for references; pass a handle instead", "reserved-field");
      continue;
    }
    const converted = convert(item, at, context);
    if (converted === undefined) continue;
    // In an input, a list handle alone stands for a list.
    entries.push([key, context.step !== null && isAll(item) ? [converted] : converted]);
  }
  return Object.fromEntries(entries);
}

function isAll(value: unknown): boolean {
  const pointer = pointerOf(value);
  return pointer?.to === "step" && pointer.output === "all";
}

function reference(pointer: Pointer, field: string, context: Inner): DraftJson | undefined {
  if (pointer.to === "asset") return { $asset: { assetId: pointer.assetId, kind: pointer.kind } };
  if (pointer.build !== context.build) {
    const said = `is a handle of step ${pointer.step} from another build; use only handles that this build returned`;
    return refuse(field, context, said, "foreign-handle");
  }
  return { $ref: { step: pointer.step, output: pointer.output } };
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
  if (typeof value === "number") return String(value);
  if (typeof value === "object") return `a ${value?.constructor?.name ?? "strange object"}`;
  return `a ${typeof value}`;
}
