import { z } from "zod";
import type { LocalWork } from "../../src/core/engine/slice/run-slices.ts";
import { type JournalStore, pipeline, type Showrunner } from "../../src/index.ts";
import { layeredSteps } from "./graph.ts";

/** Steps one after the other. */
export const chainPipeline = pipeline("chain", {
  input: z.object({ steps: z.int() }),
  build: ({ input, task }) => ({ last: layeredSteps(task, input.steps, 1) }),
});

/** What goes between a process and its journal. */
export interface Traffic {
  calls: number;
  /** Events, snapshots and results that were read, as JSON. */
  readBytes: number;
  /** Events, snapshots and results that were written, as JSON. */
  writtenBytes: number;
}

/** The store, with what goes to and from it counted. */
export function counting(inner: JournalStore): { readonly store: JournalStore; readonly traffic: Traffic } {
  const traffic: Traffic = { calls: 0, readBytes: 0, writtenBytes: 0 };
  const store = new Proxy(inner, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== "function") return method;
      // The one that answers at once.
      if (name === "clockOffsetMs") return method.bind(target);
      return async (...given: readonly unknown[]) => {
        const answer: unknown = await method.apply(target, given);
        traffic.calls += 1;
        traffic.readBytes += JSON.stringify(answer ?? null).length;
        if (name === "commit" || name === "createRun") traffic.writtenBytes += JSON.stringify(given).length;
        return answer;
      };
    },
  });
  return { store, traffic };
}

/** Drives a chain in slices, each of whose steps is a job of its own, to its end; answers with the number of slices. */
export async function wakeThrough(show: Showrunner, id: string, steps: number): Promise<number> {
  const waiting: LocalWork[] = [];
  const findPipeline = async () => chainPipeline;
  await show.start(chainPipeline, { steps }, { id });
  for (let wakes = 1; ; wakes += 1) {
    const delegate = async (work: LocalWork) => void waiting.push(work);
    const { status, wakeAt } = await show.engine.slice(id, { findPipeline, delegate });
    if (status === "succeeded") return wakes;
    const work = waiting.shift();
    if (work !== undefined) await show.engine.work(work, { findPipeline });
    else if (wakeAt === null || wakeAt > Date.now()) throw new Error(`the run is ${status}, and nothing follows`);
  }
}
