import { isPlainObject } from "../plan/plain-json.ts";
import type {
  DraftJson,
  DraftReference,
  DraftStep,
  FailurePolicy,
  LocalFunction,
  Plan,
  Problem,
} from "../plan/plan.ts";
import { BuilderClosedError, stepNameProblem } from "./errors.ts";
import { type Build, isListPointer, type Pointer, pointerOf, type StepPointer } from "./handle.ts";

export interface Recorder {
  readonly build: Build;
  readonly onFailure: FailurePolicy | null;
  readonly prune: boolean;
  readonly depth: number;
  path(name: unknown): string;
  add(step: DraftStep): void;
  report(problem: Problem): void;
  json(value: unknown, at: { readonly step: string | null; readonly field: string }): DraftJson;
  knows(build: Build): boolean;
  bind(path: string, code: LocalFunction): void;
  group(path: string, maxCostMicros: number): void;
  /** Reserves the name, and returns a recorder that prefixes the names of its steps with `<name>/`. */
  part(name: unknown, options?: Partial<PartDefaults>): Recorder & { readonly prefix: string };
  under(prefix: string): readonly string[];
}

export interface Recording extends Recorder {
  readonly steps: readonly DraftStep[];
  readonly problems: readonly Problem[];
  readonly functions: ReadonlyMap<string, LocalFunction>;
  readonly groups: NonNullable<Plan["groups"]>;
  readonly parts: ReadonlyMap<string, number>;
  close(): void;
}

interface PartDefaults extends Pick<Recorder, "onFailure" | "prune"> {
  readonly after: readonly string[];
  readonly isClosed: boolean;
}

export interface RecordingOptions extends Partial<Pick<PartDefaults, "onFailure" | "prune">> {
  readonly prefix?: string;
  readonly within?: Build | null;
}

export function startRecording(options: RecordingOptions = {}): Recording {
  const steps: DraftStep[] = [];
  const problems: Problem[] = [];
  const functions = new Map<string, LocalFunction>();
  const groups = new Map<string, { readonly maxCostMicros: number }>();
  const parts = new Map<string, number>();
  const names = new Set<string>();
  let closed = false;
  const report = (problem: Problem) => void problems.push(problem);
  const take = (path: string, prefix: string) => {
    if (closed) throw new BuilderClosedError(path);
    const badName = stepNameProblem(path.slice(prefix.length));
    if (badName !== null) report({ ...badName, step: path });
    else if (names.has(path)) report(duplicate(path));
    names.add(path);
  };
  interface Place extends Omit<PartDefaults, "isClosed"> {
    readonly prefix: string;
    readonly depth: number;
    readonly build: Build;
  }
  const recorder = ({ prefix, depth, build, onFailure, prune, after }: Place): Recorder => ({
    build,
    onFailure,
    prune,
    depth,
    report,
    knows: (other) => isWithin(build, other),
    path: (name) => prefix + String(name).normalize("NFC"),
    json: (value, at) => draftJson(value, { ...at, knows: (other) => isWithin(build, other), report }),
    add(step) {
      take(step.path, prefix);
      steps.push(after.length === 0 ? step : { ...step, after: [...step.after, ...after] });
    },
    bind: (path, code) => void functions.set(path, code),
    group: (path, maxCostMicros) => void groups.set(path, { maxCostMicros }),
    part(name, own = {}) {
      const path = prefix + String(name).normalize("NFC");
      take(path, prefix);
      parts.set(path, steps.length);
      const place = {
        prefix: `${path}/`,
        depth: depth + 1,
        build: own.isClosed === true ? { within: build } : build,
        onFailure: own.onFailure ?? onFailure,
        prune: own.prune ?? prune,
        after: [...after, ...(own.after ?? [])],
      };
      return { ...recorder(place), prefix: place.prefix };
    },
    under: (within) => steps.flatMap(({ path }) => (path.startsWith(within) ? [path] : [])),
  });
  return {
    ...recorder({
      prefix: options.prefix ?? "",
      depth: 0,
      build: { within: options.within ?? null },
      onFailure: options.onFailure ?? null,
      prune: options.prune ?? true,
      after: [],
    }),
    steps,
    problems,
    functions,
    parts,
    get groups() {
      return Object.fromEntries(groups);
    },
    close: () => {
      closed = true;
    },
  };
}

function isWithin(build: Build, other: Build): boolean {
  for (let current: Build | null = build; current !== null; current = current.within)
    if (current === other) return true;
  return false;
}

function duplicate(step: string): Problem {
  const message = `a step named ${step} already exists; give each step its own name, such as \`${step}-\${index}\` in a loop`;
  return { code: "duplicate-step", step, field: null, message };
}

interface Context {
  readonly step: string | null;
  knows(build: Build): boolean;
  report(problem: Problem): void;
}

/** Maximum nesting depth. A value that is nested more deeply probably contains itself. */
const MAX_DEPTH = 100;

const RESERVED = ["$ref", "$asset", "$text", "$file", "$input"];

/** Copies a value to JSON, with handles as references. Reports and omits what JSON cannot represent. */
export function draftJson(value: unknown, context: Context & { readonly field: string }): DraftJson {
  return convert(value, context.field, context, 0) ?? null;
}

function convert(value: unknown, field: string, context: Context, depth: number): DraftJson | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const pointer = pointerOf(value);
  if (pointer !== null) return convertPointer(pointer, field, context);
  if (depth >= MAX_DEPTH) return refuse(field, context, "is nested too deeply or contains itself");
  if (Array.isArray(value)) return convertList(value, field, context, depth + 1);
  if (isPlainObject(value)) return convertObject(value, field, context, depth + 1);
  return refuse(field, context, `is ${describe(value)}, which JSON cannot represent`);
}

function convertList(list: readonly unknown[], field: string, context: Context, depth: number): DraftJson {
  const converted: DraftJson[] = [];
  for (let index = 0; index < list.length; index += 1) {
    const item = convert(list[index], `${field}[${index}]`, context, depth) ?? null;
    // The results of several steps are spread here. All outputs of one step are spread when the run resolves them.
    if (Array.isArray(item) && pointerOf(list[index])?.to === "several") converted.push(...item);
    else converted.push(item);
  }
  // Releases the list's spare capacity.
  return converted.slice();
}

function convertObject(value: object, field: string, context: Context, depth: number): DraftJson {
  const entries: [string, DraftJson][] = [];
  for (const [key, item] of Object.entries(value)) {
    const at = field === "" ? key : `${field}.${key}`;
    if (item === undefined) continue;
    if (key.startsWith("$") && RESERVED.some((name) => key.startsWith(name))) {
      refuse(at, context, "is a name reserved for references; pass a handle instead", "reserved-field");
      continue;
    }
    const converted = convert(item, at, context, depth);
    if (converted === undefined) continue;
    // In an input, a list handle outside a list is wrapped, so that it resolves to a list.
    const wraps = context.step !== null && pointerOf(item)?.to === "step" && isListPointer(pointerOf(item));
    entries.push([key, wraps ? [converted] : converted]);
  }
  return Object.fromEntries(entries);
}

function convertPointer(pointer: Pointer, field: string, context: Context): DraftJson | undefined {
  switch (pointer.to) {
    case "asset":
      return { $asset: { assetId: pointer.assetId, kind: pointer.kind } };
    case "step":
      return reference(pointer, field, context);
    case "several":
      return pointer.pointers.map((handle) => reference(handle, field, context) ?? null);
    case "input":
      return fieldOfInput(pointer, field, context);
    case "text":
      return { $text: pointer.pieces.map((piece) => convertPiece(piece, field, context)) };
    default:
      return pointer satisfies never;
  }
}

function convertPiece(piece: unknown, field: string, context: Context): DraftJson {
  if (typeof piece === "string") return piece;
  if (typeof piece === "number" || typeof piece === "boolean") return String(piece);
  const pointer = pointerOf(piece);
  const isValue =
    pointer?.to === "text" || pointer?.to === "input" || (pointer?.to === "step" && pointer.output === "value");
  if (isValue) return convertPointer(pointer, field, context) ?? "";
  const given = pointer === null ? describe(piece) : "a handle of media";
  refuse(
    field,
    context,
    `contains ${given} in its text; text can contain only strings, numbers and step values`,
    "bad-text",
  );
  return "";
}

function fieldOfInput(
  { step, field: of, value, build }: Extract<Pointer, { readonly to: "input" }>,
  field: string,
  context: Context,
): DraftJson | undefined {
  if (!isOwn({ step, build }, field, context)) return undefined;
  if (value !== undefined) return { $input: { step, field: of } };
  return refuse(
    field,
    context,
    `reads the field ${of} from the input of ${step}, but that input has no such field`,
    "unknown-field",
  );
}

function isOwn({ step, build }: Pick<StepPointer, "step" | "build">, field: string, context: Context): boolean {
  if (context.knows(build)) return true;
  const problem = `is a handle of step ${step} from another build; use only handles from this build`;
  refuse(field, context, problem, "foreign-handle");
  return false;
}

function reference(pointer: StepPointer, field: string, context: Context): DraftReference | undefined {
  if (!isOwn(pointer, field, context)) return undefined;
  const { step, output, at } = pointer;
  return { $ref: { step, output, ...(at !== undefined && { at }) } };
}

function refuse(field: string, context: Context, problem: string, code = "not-json"): undefined {
  context.report({ code, step: context.step, field, message: `${field} ${problem}` });
}

function describe(value: unknown): string {
  if (value === undefined) return "undefined";
  if (value === null) return "null";
  if (typeof value === "number") return String(value);
  if (typeof value === "object") return `a ${value?.constructor?.name ?? "strange object"}`;
  return `a ${typeof value}`;
}
