import type { FileInput } from "../define/file.ts";
import { makeJobHandle, makeUploadHandle, type Target, targetOf } from "../define/handle.ts";
import type { MediaKind } from "../define/media.ts";
import type { Model } from "../define/model.ts";
import type { Builder, JobOptions, Pipeline } from "../define/pipeline.ts";
import { parseUsd } from "../money.ts";
import type { Json, Problem, Returned, StepPolicy, Yield } from "./plan.ts";

export interface DraftJob {
  readonly kind: "job";
  readonly path: string;
  readonly model: string;
  readonly input: Json;
  /** Null for an untyped model: the catalog says. */
  readonly yields: Yield | null;
  readonly after: readonly string[];
  readonly policy: StepPolicy;
}

export interface DraftUpload {
  readonly kind: "upload";
  readonly path: string;
  readonly file: string;
  readonly yields: MediaKind;
}

/** What a pipeline's builder wrote down, not yet checked against files and models. */
export interface Draft {
  readonly pipeline: string;
  readonly steps: readonly (DraftJob | DraftUpload)[];
  readonly returns: { readonly [name: string]: Returned };
  readonly parsedInput: Json;
}

const STEP_NAME = /^[^\s/#][^/#\p{Cc}]{0,98}$/u;

/** Parses the input and runs the builder once. Every mistake found on the way is a problem; null when there is no draft. */
export function draft(pipeline: Pipeline, input: unknown): { draft: Draft | null; problems: Problem[] } {
  const parsed = pipeline.input.safeParse(input);
  if (!parsed.success) return { draft: null, problems: parsed.error.issues.map(inputProblem) };
  const notebook = new Notebook();
  try {
    const returned = pipeline.build(notebook.builder(parsed.data));
    const returns = notebook.toJson("", null, returned) as Draft["returns"];
    const draft = { pipeline: pipeline.name, steps: notebook.steps, returns, parsedInput: plainJson(parsed.data) };
    return { draft, problems: notebook.problems };
  } catch (error) {
    const message = `build() of ${pipeline.name} threw: ${error instanceof Error ? error.message : String(error)}`;
    return { draft: null, problems: [...notebook.problems, { code: "build", step: null, field: null, message }] };
  }
}

/** Local files that the draft uploads. */
export function filesOf(draft: Draft): readonly { path: string; kind: MediaKind; step: string }[] {
  return draft.steps.flatMap((step) =>
    step.kind === "upload" ? [{ path: step.file, kind: step.yields, step: step.path }] : [],
  );
}

/** Ids of the models that the draft names. */
export function modelsOf(draft: Draft): readonly string[] {
  return [...new Set(draft.steps.flatMap((step) => (step.kind === "job" ? [step.model] : [])))];
}

/** Collects what `build` says. */
class Notebook {
  readonly steps: (DraftJob | DraftUpload)[] = [];
  readonly problems: Problem[] = [];
  readonly #names = new Set<string>();

  builder(input: unknown): Builder<unknown> {
    return {
      input,
      job: (name: string, model: Model<unknown, Yield> | string, given: unknown, options: JobOptions = {}) => {
        this.#claim(name);
        const id = typeof model === "string" ? model : model.id;
        const yields = typeof model === "string" ? null : model.yields;
        const after = (options.after ?? []).flatMap((handle) => targetOf(handle)?.step ?? []);
        const input = this.toJson("input", name, given ?? {});
        this.steps.push({
          kind: "job",
          path: name,
          model: id,
          input,
          yields,
          after,
          policy: this.#policy(name, options),
        });
        return makeJobHandle(name, yields) as never;
      },
      upload: <K extends MediaKind>(name: string, { path, kind }: FileInput<K>) => {
        this.#claim(name);
        this.steps.push({ kind: "upload", path: name, file: path, yields: kind });
        return makeUploadHandle(name, kind);
      },
    };
  }

  /** A value as JSON with handles as references; what JSON cannot hold is a problem. */
  toJson(field: string, step: string | null, value: unknown): Json {
    const found = targetOf(value);
    if (found !== null) return reference(found);
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number" && Number.isFinite(value)) return value;
    if (Array.isArray(value)) return value.map((item, index) => this.toJson(`${field}[${index}]`, step, item));
    if (typeof value === "object" && isPlain(value)) {
      const entries = Object.entries(value).filter(([, item]) => item !== undefined);
      if ("$ref" in value) this.#problem("reserved", step, field, "the field name $ref is reserved; use another one");
      const inside = field === "" ? "" : `${field}.`;
      return Object.fromEntries(entries.map(([key, item]) => [key, this.toJson(inside + key, step, item)]));
    }
    this.#problem(
      "type",
      step,
      field,
      `${describe(value)} cannot be sent; use text, numbers, lists, records and handles`,
    );
    return null;
  }

  #claim(name: string): void {
    if (!STEP_NAME.test(name)) {
      const message = `${JSON.stringify(name)} is no step name: 1 to 99 characters, no "/" and no "#", no space in front`;
      this.#problem("bad-step-name", name, null, message);
    }
    if (this.#names.has(name)) this.#problem("duplicate-step", name, null, "two steps have this name; rename one");
    this.#names.add(name);
  }

  #policy(step: string, options: JobOptions): StepPolicy {
    const { attempts = 1, maxCost, keep = true } = options;
    if (!Number.isSafeInteger(attempts) || attempts < 1) {
      this.#problem("option", step, "attempts", `${attempts} is no number of attempts; use a whole number from 1`);
    }
    const maxCostMicros = maxCost === undefined ? null : parseUsd(maxCost);
    if (maxCost !== undefined && maxCostMicros === null) {
      this.#problem(
        "option",
        step,
        "maxCost",
        `${JSON.stringify(maxCost)} is no amount of dollars; write it like "1.50"`,
      );
    }
    return { attempts, maxCostMicros, keep };
  }

  #problem(code: string, step: string | null, field: string | null, message: string): void {
    this.problems.push({ code, step, field, message });
  }
}

function reference({ step, yields, isUpload, output }: Target): Json {
  const as = isUpload ? "upload" : yields === "voice" ? "voice" : yields === "value" ? "value" : "asset";
  const kind = yields === "image" || yields === "video" || yields === "audio" ? { kind: yields } : {};
  return { $ref: { step, as, output, ...kind } };
}

function inputProblem(issue: { readonly path: PropertyKey[]; readonly message: string }): Problem {
  const field = issue.path.reduce<string>(
    (path, key) => (typeof key === "number" ? `${path}[${key}]` : `${path}.${String(key)}`),
    "input",
  );
  return { code: "input", step: null, field, message: issue.message };
}

/** The parsed input as JSON, for the journal: files by their path. */
function plainJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null)) as Json;
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function describe(value: unknown): string {
  if (typeof value === "object" && value !== null) return `a ${value.constructor.name}`;
  return typeof value === "number" ? String(value) : `a ${typeof value}`;
}
