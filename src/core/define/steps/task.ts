import type { FileKind, Foresee, Json, LocalFile, Requirement, TaskContext } from "../../plan/plan.ts";
import { isStepName } from "../errors.ts";
import type { Handle, TaskFiles, TaskHandle, Value, ValuesHandle, Yields } from "../handle.ts";
import { mark, outputHandle, type Pointer, recoveryHandle, valueHandle } from "../handle.ts";
import type { Recorder } from "../recorder.ts";
import { type MediaOptions, OptionReader, WORK_OPTIONS, type WorkOptions } from "./options.ts";

export interface TaskOptions<F extends TaskFiles = TaskFiles> extends WorkOptions, MediaOptions {
  /**
   * Kinds of the files that the function writes, by file name: `{ film: "video", "lines.srt": "text" }`. Default: none.
   */
  readonly files?: F;
  /** The function's version. Change it when the function changes, so that the step runs again. Default `"1"`. */
  readonly version?: string | undefined;
  /**
   * Checks whether this machine has what the function needs, such as a program. It is called during planning, before
   * anything is paid for. Default: nothing is checked.
   */
  readonly requires?: Requirement | undefined;
  /**
   * Returns the output's expected duration and any warnings about it. Called during planning. If omitted, the duration
   * is unknown.
   */
  readonly foresee?: Foresee | undefined;
}

/**
 * The input that a local function receives. Media are local files, voices are ids, and all other handles are replaced
 * by their values.
 */
export type LocalInput<T> =
  T extends Value<infer V>
    ? V
    : T extends ValuesHandle<infer V>
      ? readonly V[]
      : T extends Handle<infer Y, infer F>
        ? F extends "list"
          ? readonly LocalResult<Y>[]
          : LocalResult<Y>
        : T extends readonly (infer E)[]
          ? readonly LocalItem<E>[]
          : T extends object
            ? { readonly [K in keyof T]: LocalInput<T[K]> }
            : T;

type LocalItem<E> =
  E extends ValuesHandle<infer V> ? V : E extends Handle<infer Y, "list"> ? LocalResult<Y> : LocalInput<E>;
type LocalResult<Y extends Yields> = Y extends "voice" ? string : Y extends "value" ? unknown : LocalFile;

export interface TaskMethod {
  /**
   * Adds a local function. It runs again after a crash, so running it twice must do no harm. It returns JSON or
   * nothing, and writes files to the paths that `context.file(name)` returns.
   */
  <I, R, F extends TaskFiles = Readonly<Record<never, never>>>(
    name: string,
    input: I,
    run: (input: LocalInput<I>, context: TaskContext) => R,
    options?: TaskOptions<F>,
  ): TaskHandle<ValueOf<R>, F>;
}

/** The type of the value that a function returns or resolves to. Null if it returns nothing. */
export type ValueOf<R> = Awaited<R> extends infer V ? (V extends void ? null : V) : never;

const KINDS: readonly FileKind[] = ["image", "video", "audio", "text"];

export function taskMethod(recorder: Recorder): TaskMethod {
  return <I, R, F extends TaskFiles = Readonly<Record<never, never>>>(
    name: string,
    input: I,
    run: (input: LocalInput<I>, context: TaskContext) => R,
    options?: TaskOptions<F>,
  ) => {
    const path = recorder.path(name);
    const read = new OptionReader(options, path, recorder);
    read.only("a task", [...WORK_OPTIONS, "files", "version", "requires", "foresee", "expect"]);
    const files = readFiles(read);
    checkFunction(run, "run", path, recorder);
    const version = read.string("version") ?? "1";
    recorder.add({
      kind: "task",
      path,
      input: recorder.json(input ?? null, { step: path, field: "input" }),
      version,
      files,
      policy: read.policy(),
      after: read.after(),
      when: read.when(),
    });
    const requires = read.get("requires") as Requirement | undefined;
    if (requires !== undefined) checkFunction(requires, "requires", path, recorder);
    const foresee = read.get("foresee") as Foresee | undefined;
    if (foresee !== undefined) checkFunction(foresee, "foresee", path, recorder);
    const code = { kind: "task", run: run as (input: unknown, context: TaskContext) => unknown, version } as const;
    recorder.bind(path, { ...code, ...(requires && { requires }), ...(foresee && { foresee }) });
    return taskHandle<ValueOf<R>, F>(path, files, recorder);
  };
}

export function checkFunction(given: unknown, field: string, step: string, recorder: Recorder): void {
  if (typeof given === "function") return;
  recorder.report({ code: "bad-option", step, field, message: `\`${field}\` must be a function` });
}

type Files = readonly { readonly name: string; readonly kind: FileKind }[];

function readFiles(read: OptionReader): Files {
  const given = read.get("files") ?? {};
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    read.bad("files", 'files must map names to kinds, such as { film: "video" }');
    return [];
  }
  return Object.entries(given as Readonly<Record<string, Json>>).flatMap(([name, kind]) => {
    const known = KINDS.find((candidate) => candidate === kind);
    if (!isStepName(name)) read.bad(`files.${name}`, `${JSON.stringify(name)} cannot be a file name`);
    if (known === undefined) read.bad(`files.${name}`, `${name} has an unknown kind; use ${KINDS.join(", ")}`);
    return known === undefined ? [] : [{ name, kind: known }];
  });
}

function taskHandle<T, F extends TaskFiles>(step: string, files: Files, recorder: Recorder): TaskHandle<T, F> {
  const { build } = recorder;
  const value = valueHandle<T>(step, build);
  const file = (name: string) => {
    const index = files.findIndex((declared) => declared.name === name);
    const declared = files[index];
    if (declared !== undefined) return outputHandle({ step, yields: declared.kind, index, build });
    const names = files.map((file) => file.name).join(", ") || "none";
    const message = `${step} has no file ${JSON.stringify(name)}; its declared files: ${names}`;
    recorder.report({ code: "unknown-file", step, field: "file", message });
    return recoveryHandle(`${step}/${name}`, build);
  };
  const [first] = files;
  if (first === undefined) {
    const pointer: Pointer = { to: "step", step, output: "value", build };
    const facts = { step, yields: "value", form: "single", at: value.at, value } as const;
    return mark<Handle>(facts, pointer) as unknown as TaskHandle<T, F>;
  }
  const output = files.length === 1 ? 0 : "all";
  const form = files.length === 1 ? "single" : "list";
  const facts = { step, yields: first.kind, form, file, value } as const;
  return mark<Handle>(facts, { to: "step", step, output, build }) as unknown as TaskHandle<T, F>;
}
