import { FlowProducer, type Job, QueueEvents, Worker } from "bullmq";
import type { Case } from "../engine.ts";
import { layeredGraph } from "../graph.ts";
import { type Peer, step } from "./peer.ts";
import { startRedis } from "./servers.ts";
import { versionOf } from "./version.ts";

/** What a layer's job knows: its number, and the values of the layer above. */
interface Layer {
  readonly of: Case;
  readonly run: string;
  readonly layer: number;
}

/**
 * Flows are trees, in which two steps cannot use the same one. So a layer is a flow: its steps, and above them a job that
 * waits for all of them and then adds the flow of the next layer, under ids of its own so that doing it twice adds nothing.
 */
export async function open(folder: string): Promise<Peer> {
  const redis = await startRedis(folder);
  const connection = { host: "127.0.0.1", port: redis.port, maxRetriesPerRequest: null };
  const flows = new FlowProducer({ connection });
  const ended = new QueueEvents("layers", { connection });
  await ended.waitUntilReady();
  const waiting = new Map<string, (last: number) => void>();
  ended.on("completed", ({ returnvalue }) => {
    const { run, last } = returnvalue as unknown as { readonly run: string; readonly last: number | null };
    if (last !== null) waiting.get(run)?.(last);
  });

  const addLayer = ({ of, run, layer }: Layer, above: readonly number[]) => {
    const first = layer * of.width;
    const graph = layeredGraph(of.steps, of.width);
    const children = graph.slice(first, first + of.width).map((parents, column) => ({
      name: "step",
      queueName: "steps",
      data: { from: parents.map((parent) => above[parent - (first - of.width)]!) },
      opts: { jobId: `${run}-step-${first + column}` },
    }));
    return flows.add({
      name: "layer",
      queueName: "layers",
      data: { of, run, layer } satisfies Layer,
      opts: { jobId: `${run}-layer-${layer}` },
      children,
    });
  };

  const steps = new Worker("steps", async ({ data }: Job<{ readonly from: readonly number[] }>) => step(data.from), {
    connection,
  });
  const layers = new Worker(
    "layers",
    async (job: Job<Layer>) => {
      const { of, run, layer } = job.data;
      const byKey = await job.getChildrenValues<number>();
      const values: number[] = [];
      for (const [key, value] of Object.entries(byKey)) values[Number(/\d+$/.exec(key)) - layer * of.width] = value;
      if ((layer + 1) * of.width >= of.steps) return { run, last: values.at(-1)! };
      await addLayer({ of, run, layer: layer + 1 }, values);
      return { run, last: null };
    },
    { connection, concurrency: 20 },
  );
  await Promise.all([steps.waitUntilReady(), layers.waitUntilReady()]);

  let runs = 0;
  return {
    settings: `BullMQ ${versionOf("bullmq")}, a flow a layer, on ${redis.version}`,
    prepare: (of) => {
      steps.concurrency = of.cap * of.atOnce;
    },
    run: (of) =>
      new Promise((resolve, reject) => {
        const run = `run${++runs}`;
        waiting.set(run, resolve);
        addLayer({ of, run, layer: 0 }, []).catch(reject);
      }),
    async close() {
      await Promise.all([steps.close(), layers.close(), ended.close(), flows.close()]);
      await redis.stop();
    },
  };
}
