import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Media, MediaKind, TaskContext, Value } from "../../../src/core/define/index.ts";
import type { FileKind } from "../../../src/core/plan/plan.ts";
import type { Task } from "../../../src/film/film-task.ts";

interface Added {
  readonly input: unknown;
  readonly run: (input: unknown, context: TaskContext) => Promise<unknown>;
  readonly options: { readonly files: { readonly [name: string]: FileKind } };
}

/** A file in place of a handle. */
export function fileOf<K extends MediaKind>(kind: K, path: string): Media<K> {
  return { step: `step-${path.split("/").at(-1)}`, yields: kind, form: "single", path } as Media<K>;
}

export interface Made {
  readonly value: never;
  /** Path of a written file. */
  file(name?: string): string;
}

let count = 0;

/** Runs the single step that `add` adds, without an engine, and returns its result. */
export async function make(folder: string, add: (task: Task) => unknown, signal?: AbortSignal): Promise<Made> {
  const added: Added[] = [];
  const task = ((_name: string, input: unknown, run: Added["run"], options: Added["options"]) => {
    added.push({ input, run, options });
    const part = { step: "x", yields: "video", form: "single" };
    return { ...part, file: () => part, value: { ...part, yields: "value" } as Value };
  }) as unknown as Task;
  add(task);
  const [{ input, run, options }] = added as [Added];
  const own = join(folder, `made-${++count}`);
  mkdirSync(own);
  const endings = { video: ".mp4", image: ".png", audio: ".wav", text: ".txt" };
  const file = (name = Object.keys(options.files)[0]!) =>
    join(own, name.includes(".") ? name : `${name}${endings[options.files[name]!]}`);
  const context = { signal: signal ?? new AbortController().signal, folder: own, file, progress: () => {} };
  return { value: (await run(input, context)) as never, file };
}
