import type { Catalog } from "../core/plan/index.ts";
import type { MediaKind } from "../core/plan/plan.ts";
import type { MediaBounds } from "../core/plan/schema.ts";
import type { Body, ConvertedBody, ConvertedJob } from "./body.ts";
import { type Expression, type InputKind, inputsIn, type PipelineInput } from "./expression.ts";
import { ModelChooser } from "./models/choose.ts";
import type { FieldView } from "./models/view.ts";
import { camel, kebab, Names } from "./names.ts";
import { isTemplate, lastName, soleExpression, type TextPart, targetOf, textParts } from "./read/source.ts";

export interface StockVoice {
  readonly id: string;
  readonly name: string | null;
}

export interface MigrationContextOptions {
  readonly catalog: Catalog;
  readonly map: ReadonlyMap<string, string>;
  readonly voices: ReadonlyMap<string, readonly StockVoice[]>;
  readonly leaveOut: ReadonlySet<string>;
}

export type Link =
  | { readonly to: "body"; readonly index: number; readonly variation: number }
  | { readonly to: "outside"; readonly key: string; readonly name: string | null };

export interface KnownAsset {
  readonly name: string;
  readonly kind: MediaKind | null;
}

export class MigrationContext {
  readonly names = new Names();
  readonly chooser: ModelChooser;
  readonly options: MigrationContextOptions;
  readonly converted = new Map<number, ConvertedBody>();
  readonly assets = new Map<number, KnownAsset>();
  /** Maps each v2 asset id to the body and variation that produce the asset. */
  readonly identities = new Map<string, { readonly index: number; readonly variation: number }>();
  readonly uses = new Map<string, string[]>();
  readonly #inputs = new Map<string, PipelineInput>();

  constructor(options: MigrationContextOptions) {
    this.options = options;
    this.chooser = new ModelChooser(options.catalog, options.map);
  }

  get inputs(): readonly PipelineInput[] {
    return [...this.#inputs.values()];
  }

  link(body: Pick<Body, "source">, id: string): Link {
    if (!isTemplate(id)) {
      const known = this.identities.get(id);
      return known === undefined ? { to: "outside", key: id, name: null } : { to: "body", ...known };
    }
    const expression = soleExpression(id);
    if (expression === null) return { to: "outside", key: id, name: null };
    const target = targetOf(expression);
    const resolved = body.source.resolve?.(target) ?? {
      to: "outside" as const,
      name: target.to === "variable" ? target.name : expression,
    };
    if (resolved.to === "source") return { to: "body", index: resolved.index, variation: variationOf(expression) };
    return { to: "outside", key: `template ${resolved.name}`, name: resolved.name };
  }

  /** Returns an input for a file that the user supplies. Calls with the same key return the same input. */
  file(key: string, kind: MediaKind, name: string, why: string): Expression {
    const base = kebab(nameOfOutside(name)) ?? kind;
    const make = (step: string) => ({ is: "file", kind, step }) as const;
    return { is: "upload", input: this.#input(`file ${kind} ${key}`, base, why, make) };
  }

  input(key: string, base: string, why: string, kind: InputKind): Expression {
    return { is: "input", input: this.#input(`${kind.is} ${key}`, kebab(base) ?? kind.is, why, () => kind) };
  }

  /**
   * Converts text that contains templates. Each value that an automation flow would fill in becomes an input of the
   * pipeline.
   */
  template(body: Pick<Body, "source">, text: string, why: string): Expression {
    const parts = textParts(text).map((part) => (typeof part === "string" ? part : this.#variable(body, part, why)));
    const [only] = parts;
    return parts.length === 1 && typeof only === "object"
      ? { is: "input", input: only.input }
      : { is: "template", parts };
  }

  #variable(body: Pick<Body, "source">, { expression }: Exclude<TextPart, string>, why: string) {
    const target = targetOf(expression);
    const resolved = body.source.resolve?.(target);
    const name = resolved?.to === "outside" ? resolved.name : target.to === "variable" ? target.name : expression;
    const base = kebab(nameOfOutside(/[()[\]]/.test(name) ? lastName(name) : name)) ?? "text";
    return { input: this.#input(`variable ${name}`, base, why, () => ({ is: "text", maxLength: null })) };
  }

  #input(key: string, base: string, why: string, make: (step: string) => InputKind): string {
    const known = this.#inputs.get(key);
    if (known !== undefined) return known.name;
    const step = this.names.reserve(/^\d/.test(base) ? `input-${base}` : base);
    const name = camel(step);
    this.#inputs.set(key, { name, why, ...make(step) });
    return name;
  }
}

function variationOf(expression: string): number {
  return Number(/batch_results\[(\d+)\]/.exec(expression)?.[1] ?? 0);
}

/** Shortens `image_asset_id` to `image`, and `Upload Portrait` to `Portrait`. */
function nameOfOutside(name: string): string {
  const short = name
    .replace(/^(?:upload|create|get|fetch|load|read)[\s_-]+/i, "")
    .replace(/[\s_-]*(?:asset)?[\s_-]*(?:id|url)$/i, "");
  return short.trim() === "" ? name : short;
}

export function jobsOf(context: MigrationContext): readonly ConvertedJob[] {
  return [...context.converted.values()].flatMap(({ jobs }) => jobs);
}

export function returnedSteps(context: MigrationContext): readonly string[] {
  return [...context.converted].sort(([a], [b]) => a - b).flatMap(([, { outputs }]) => outputs);
}

export function usedInputs(context: MigrationContext): readonly PipelineInput[] {
  const used = new Map<string, MediaBounds>();
  const add = (expression: Expression, field?: FieldView) => {
    const bounds = field?.takes.what === "media" ? field.takes.bounds : {};
    for (const name of inputsIn(expression)) used.set(name, strictest(used.get(name) ?? {}, bounds));
  };
  for (const { view, input, variations, shift } of jobsOf(context)) {
    if (shift !== null) add(shift.sound);
    for (const fields of [input, ...variations.map(({ own }) => own)]) {
      for (const [name, expression] of fields) add(expression, view.fields.get(name));
    }
  }
  return context.inputs.flatMap((input) => {
    const limits = used.get(input.name);
    return limits === undefined ? [] : [input.is === "file" ? { ...input, limits } : input];
  });
}

function strictest(a: MediaBounds, b: MediaBounds): MediaBounds {
  const stricter = Object.entries(b).map(([name, value]) => {
    const choose = name.startsWith("min") ? Math.max : Math.min;
    return [name, choose(value, a[name] ?? value)] as const;
  });
  return { ...a, ...Object.fromEntries(stricter) };
}
