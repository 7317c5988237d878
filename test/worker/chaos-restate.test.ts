import { join } from "node:path";
import { describe } from "vitest";
import { freePort } from "../support/free-port.ts";
import { hasRestate, RestateServer } from "../support/restate.ts";
import { workersUnderChaos } from "./chaos.ts";

describe.runIf(hasRestate("workers under kill -9"))("Under kill -9:", () => {
  workersUnderChaos("Restate, with the journal in a file", async (folder) => {
    const server = await RestateServer.start({
      RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL: "3s",
      RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT: "5s",
    });
    const { ingress, admin } = server;
    const engine = { kind: "restate", ingress, endpoint: { admin, port: await freePort() } } as const;
    return { engine, journal: join(folder, "journal.db"), remove: () => server.remove() };
  });
});
