import type { Case } from "../engine.ts";
import { executed, layeredGraph, stepValue } from "../graph.ts";
import { pooled } from "../harness.ts";

/** An engine, opened on a folder of its own, with its server where it needs one. */
export interface Peer {
  /** Versions and durability, as they are printed. */
  readonly settings: string;
  /** Drives one run to its end; answers with the value of its last step. */
  run(of: Case): Promise<number>;
  /** Takes all runs at once and limits them itself, as engines whose workers poll do. Default: handed over as others end. */
  readonly queuesRuns?: boolean;
  /** Called before the runs of a case. */
  prepare?(of: Case): Promise<void> | void;
  close(): Promise<void>;
}

/** What every step does. */
export function step(from: readonly number[]): number {
  executed.steps += 1;
  return stepValue(from);
}

/**
 * The graph as code: layer by layer, the steps of each started in the order of their numbers, `cap` at once. Engines that
 * replay code demand a fixed order, so that a step cannot start as soon as just its own two are there.
 */
export async function runLayers(
  { steps, width, cap }: Case,
  perform: (index: number, from: readonly number[]) => PromiseLike<number>,
): Promise<number> {
  const graph = layeredGraph(steps, width);
  const values: number[] = [];
  for (let first = 0; first < steps; first += width) {
    await pooled(Math.min(width, steps - first), cap, async (column) => {
      const index = first + column;
      values[index] = await perform(
        index,
        graph[index]!.map((parent) => values[parent]!),
      );
    });
  }
  return values.at(-1)!;
}
