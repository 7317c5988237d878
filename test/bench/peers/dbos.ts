import { DBOS } from "@dbos-inc/dbos-sdk";
import type { Case } from "../engine.ts";
import { type Peer, runLayers, step } from "./peer.ts";
import { postgresUrl, startPostgres } from "./servers.ts";
import { versionOf } from "./version.ts";

export async function open(folder: string): Promise<Peer> {
  const postgres = await startPostgres(folder);
  const run = DBOS.registerWorkflow(
    (of: Case) => runLayers(of, (index, from) => DBOS.runStep(async () => step(from), { name: `step-${index}` })),
    { name: "layered" },
  );
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: postgresUrl(postgres), logLevel: "error" });
  await DBOS.launch();
  return {
    settings: `DBOS ${versionOf("@dbos-inc/dbos-sdk")} with its defaults, on ${postgres.version}`,
    run: async (of) => (await DBOS.startWorkflow(run)(of)).getResult(),
    async close() {
      await DBOS.shutdown();
      await postgres.stop();
    },
  };
}
