import type { z } from "zod";
import type { FailurePolicy } from "../../plan/plan.ts";
import { checkInput, IncludeError, inputMistake } from "../errors.ts";
import { recoveryHandle } from "../handle.ts";
import type { Recorder } from "../recorder.ts";
import type { Returns } from "../result.ts";
import { OptionReader } from "./options.ts";

export interface IncludeOptions {
  /** Maximum total cost of the steps, in US dollars as a decimal string. Default: the rest of the run's budget. */
  readonly maxCost?: string | undefined;
}

/** A pipeline that `include` accepts. `M` is the type of the builder's methods. */
interface Includable<S extends z.ZodType, R, M> {
  readonly input: S;
  readonly onFailure: FailurePolicy | null;
  readonly prune: boolean;
  build(builder: M & { readonly input: z.output<S> }): R;
}

export interface IncludeMethod<M> {
  /** Adds another pipeline's steps as `<name>/…` and returns what its `build` returns. */
  <S extends z.ZodType, R extends Returns>(
    name: string,
    pipeline: Includable<S, R, M>,
    input: z.input<S>,
    options?: IncludeOptions,
  ): R;
}

/** Maximum nesting depth, which stops a pipeline that includes itself. */
const MAX_DEPTH = 20;

export function includeMethod<M>(recorder: Recorder, stepMethods: (recorder: Recorder) => M): IncludeMethod<M> {
  return <S extends z.ZodType, R extends Returns>(
    name: string,
    pipeline: Includable<S, R, M>,
    input: z.input<S>,
    options?: IncludeOptions,
  ) => {
    const path = recorder.path(name);
    if (recorder.depth >= MAX_DEPTH)
      throw new IncludeError(`${path} is nested ${MAX_DEPTH} pipelines deep; a pipeline must not include itself`);
    if (typeof pipeline?.build !== "function" || typeof pipeline.input?.safeParse !== "function") {
      throw new IncludeError(`${path} does not contain a pipeline; pass the value that pipeline(…) returned`);
    }
    const part = recorder.part(name, {
      onFailure: inherited(pipeline, recorder),
      ...(pipeline.prune === false && { prune: false }),
    });
    const read = new OptionReader(options, path, recorder);
    read.only("an included pipeline", ["maxCost"], []);
    const maxCostMicros = read.usd("maxCost");
    if (maxCostMicros !== null) recorder.group(path, maxCostMicros);
    const parsed = checkInput(pipeline.input, input);
    for (const issue of parsed.error?.issues ?? []) {
      recorder.report({ code: "input", step: path, ...inputMistake(issue) });
    }
    if (!parsed.success) return recoveryHandle(path, recorder.build) as R;
    return pipeline.build({ input: parsed.data, ...stepMethods(part) });
  };
}

/**
 * Returns the failure policy for the steps of an included pipeline. A quorum counts a whole run's results, so the
 * quorum of the included pipeline is ignored.
 */
function inherited(
  { onFailure }: { readonly onFailure: FailurePolicy | null },
  recorder: Recorder,
): Recorder["onFailure"] {
  return typeof onFailure === "string" ? onFailure : recorder.onFailure;
}
