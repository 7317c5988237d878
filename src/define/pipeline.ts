import type { z } from "zod";
import type { Yield } from "../plan/plan.ts";
import type { FileInput } from "./file.ts";
import type { Handle, JobHandle, OutputsHandle, UploadHandle } from "./handle.ts";
import type { MediaKind } from "./media.ts";
import type { Model } from "./model.ts";

/** How a job is run; never what it asks for. */
export interface JobOptions {
  /** Paid attempts at most. Default 1; a failure that was refunded and may pass is tried again without counting here. */
  readonly attempts?: number;
  /** The most that one attempt may cost, a decimal of US dollars such as `"1.50"`. */
  readonly maxCost?: string;
  /** Whether its outputs are copied to disk as soon as they exist. Default true. */
  readonly keep?: boolean;
  /** Steps that must be through first, without their results being used. */
  readonly after?: readonly Handle<Yield>[];
}

/** What `build` gets. It runs once, at plan time, with the real input: loops and ifs on it are plain TypeScript. */
export interface Builder<I> {
  readonly input: I;
  /** A paid job. `name` is unique in the pipeline and has no `/`. */
  job<In, Y extends Yield, Max extends number>(
    name: string,
    model: Model<In, Y, Max>,
    input: NoInfer<In>,
    options?: JobOptions,
  ): JobHandle<Y, Max>;
  /** A paid job of a model known only by id; its input is checked at plan time. */
  job(name: string, model: string, input: Readonly<Record<string, unknown>>, options?: JobOptions): JobHandle<never>;
  /** A local file to be sent to the service, free of charge. */
  upload<K extends MediaKind>(name: string, file: FileInput<K>): UploadHandle<K>;
}

/** What a pipeline returns: names to handles, in lists and records as it likes. */
export interface Returns {
  readonly [name: string]: ReturnsValue;
}
export type ReturnsValue = Handle<Yield> | OutputsHandle<Yield> | readonly ReturnsValue[] | Returns;

/** A definition: what it takes, and how its steps hang together. */
export interface Pipeline<S extends z.ZodType = z.ZodType, R extends Returns = Returns> {
  readonly name: string;
  readonly input: S;
  /** Method syntax: a pipeline of any input is a Pipeline. */
  build(builder: Builder<z.output<S>>): R;
}

/** Defines a pipeline. `build` must be pure: same input, same steps. */
export function pipeline<S extends z.ZodType, R extends Returns>(
  name: string,
  definition: { readonly input: S; build(builder: Builder<z.output<S>>): R },
): Pipeline<S, R> {
  return { name, input: definition.input, build: (builder) => definition.build(builder) };
}

/** True for what `pipeline` returns, whichever copy of the library made it. */
export function isPipeline(value: unknown): value is Pipeline {
  if (typeof value !== "object" || value === null) return false;
  const { name, input, build } = value as Partial<Pipeline>;
  return typeof name === "string" && typeof build === "function" && typeof input === "object" && input !== null;
}
