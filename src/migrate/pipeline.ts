import { z } from "zod";
import { type Builder, type FileInput, file, type Handle, type Pipeline, pipeline } from "../define/index.ts";
import type { UntypedValue } from "../define/model.ts";
import type { LocalFile, TaskContext } from "../plan/draft.ts";
import { type Expression, evaluate, type PipelineInput } from "./expression.ts";
import { jobsOf, type MigrationContext, returnedSteps } from "./migration-context.ts";
import { camel } from "./names.ts";
import { shiftSound } from "./shift-sound.ts";

/** The data that a source and a pipeline are built from. */
export interface MigratedPipeline {
  readonly name: string;
  readonly context: MigrationContext;
  readonly inputs: readonly PipelineInput[];
  readonly modelsModule: string;
}

/** The pipeline that the written source defines, built without the source. */
export function pipelineOf(converted: MigratedPipeline): Pipeline {
  const input = z.object(Object.fromEntries(converted.inputs.map((one) => [one.name, schemaOf(one)])));
  return pipeline(converted.name, { input, build: (builder) => build(converted, builder) }) as unknown as Pipeline;
}

function schemaOf(input: PipelineInput): z.ZodType {
  switch (input.is) {
    case "file":
      return file(input.kind) as unknown as z.ZodType;
    case "voice":
      return z.string().min(1);
    case "text":
      return input.maxLength === null ? z.string().min(1) : z.string().min(1).max(input.maxLength);
    case "choice":
      return z.enum(input.values);
    default:
      return input satisfies never;
  }
}

function build(
  { context, inputs }: MigratedPipeline,
  { input, job, task, upload }: Builder<{ readonly [name: string]: unknown }>,
) {
  const handles = new Map<string, Handle>();
  for (const one of inputs) {
    if (one.is === "file") handles.set(`file ${one.name}`, upload(one.step, input[one.name] as FileInput));
  }
  const valueFor = (expression: Expression): UntypedValue =>
    evaluate<UntypedValue>(expression, (leaf) => {
      switch (leaf.is) {
        case "json":
          return leaf.value as UntypedValue;
        case "step":
          return handles.get(leaf.step);
        case "upload":
          return handles.get(`file ${leaf.input}`);
        case "input":
          return input[leaf.input] as string;
        case "template":
          return leaf.parts.map((part) => (typeof part === "string" ? part : String(input[part.input]))).join("");
        default:
          return leaf satisfies never;
      }
    });
  for (const { view, input: shared, variations, shift } of jobsOf(context)) {
    if (shift !== null) {
      const run = shifting(shift.startMs);
      handles.set(shift.step, task(shift.step, { sound: valueFor(shift.sound) }, run, { files: { sound: "audio" } }));
    }
    for (const { step, own } of variations) {
      const fields = [...shared, ...own].map(([name, value]) => [name, valueFor(value)] as const);
      handles.set(step, job(step, view.id, Object.fromEntries(fields)));
    }
  }
  return Object.fromEntries(returnedSteps(context).map((step) => [camel(step), handles.get(step)!]));
}

/** The function of the written task. */
function shifting(startMs: number) {
  return ({ sound }: { readonly sound: unknown }, { file: fileOf }: TaskContext) =>
    shiftSound({ from: (sound as LocalFile).path, to: fileOf("sound"), startMs });
}
