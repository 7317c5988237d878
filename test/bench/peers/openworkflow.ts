import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { OpenWorkflow } from "openworkflow";
import { BackendPostgres } from "openworkflow/postgres";
import { BackendSqlite } from "openworkflow/sqlite";
import type { Case } from "../engine.ts";
import { type Peer, runLayers, step } from "./peer.ts";
import { postgresUrl, startPostgres } from "./servers.ts";
import { versionOf } from "./version.ts";

type Backend = BackendPostgres | BackendSqlite;

export async function onPostgres(folder: string): Promise<Peer> {
  const postgres = await startPostgres(folder);
  const backend = await BackendPostgres.connect(postgresUrl(postgres));
  return peer(backend, postgres.version, postgres.stop);
}

export async function onSqlite(folder: string): Promise<Peer> {
  const backend = BackendSqlite.connect(join(folder, "openworkflow.db"));
  return peer(backend, "SQLite (WAL, synchronous FULL)", async () => {});
}

async function peer(backend: Backend, store: string, stopServer: () => Promise<void>): Promise<Peer> {
  const workflows = new OpenWorkflow({ backend });
  const layered = workflows.defineWorkflow<Case, number>({ name: "layered" }, ({ input, step: api }) =>
    runLayers(input, (index, from) => api.run({ name: `step-${index}` }, () => step(from))),
  );
  let worker = workflows.newWorker({ concurrency: 1 });
  return {
    settings: `openworkflow ${versionOf("openworkflow")} with its defaults, on ${store}`,
    queuesRuns: true,
    async prepare(of) {
      await worker.stop();
      worker = workflows.newWorker({ concurrency: of.atOnce });
      await worker.start();
    },
    async run(of) {
      const { workflowRun } = (await layered.run(of)) as unknown as { readonly workflowRun: { readonly id: string } };
      // Its own handle looks once a second.
      for (;;) {
        const run = await backend.getWorkflowRun({ workflowRunId: workflowRun.id });
        if (run?.status === "completed") return run.output as number;
        if (run?.status === "failed") throw new Error(JSON.stringify(run.error));
        await sleep(5);
      }
    },
    async close() {
      await worker.stop();
      await backend.stop();
      await stopServer();
    },
  };
}
