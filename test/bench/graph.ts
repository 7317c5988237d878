/**
 * The graph that every engine is measured on: steps that do nothing, in layers, each using two steps of the layer before.
 * What it costs is what an engine costs.
 */
import { z } from "zod";
import { pipeline, type StepMethods, type ValueTaskHandle } from "../../src/core/define/index.ts";

/** Of each step, the steps that it uses, by number: its own column and the next one of the layer above. */
export function layeredGraph(steps: number, width = 100): readonly (readonly number[])[] {
  return Array.from({ length: steps }, (_, step) => {
    const layer = Math.floor(step / width);
    if (layer === 0) return [];
    const column = step % width;
    const above = (layer - 1) * width;
    return width === 1 ? [above] : [above + column, above + ((column + 1) % width)];
  });
}

/** A step answers with one more than its parents' sum, bounded: wrong as soon as one ran on the wrong inputs. */
export function stepValue(parents: readonly number[]): number {
  return (parents.reduce((sum, value) => sum + value, 0) + 1) % 1_000_003;
}

/** What the last step comes to. */
export function lastValue(graph: readonly (readonly number[])[]): number {
  const values: number[] = [];
  for (const parents of graph) values.push(stepValue(parents.map((parent) => values[parent]!)));
  return values.at(-1)!;
}

/** Local functions that ran, of all runs of this process. */
export const executed = { steps: 0 };

/** One function for all steps: what a closure of the graph would hold is not the engine's memory. */
function runStep(given: { readonly from: readonly unknown[] }): number {
  executed.steps += 1;
  return stepValue(given.from as number[]);
}

/** Adds the steps to a pipeline; answers with the last one's value. */
export function layeredSteps(task: StepMethods["task"], steps: number, width: number): ValueTaskHandle<number> {
  const handles: ValueTaskHandle<number>[] = [];
  for (const [step, parents] of layeredGraph(steps, width).entries()) {
    const from = parents.map((parent) => handles[parent]!);
    handles.push(task(`step-${step}`, { from }, runStep));
  }
  return handles.at(-1)!;
}

export const layeredPipeline = pipeline("layered", {
  input: z.object({ steps: z.int(), width: z.int().default(100) }),
  build: ({ input, task }) => ({ last: layeredSteps(task, input.steps, input.width) }),
});
