import { createTimersEngine } from "../../../src/fleet/worker/index.ts";
import { engineContract } from "./contract.ts";

engineContract("of one process", async () => {
  const engine = createTimersEngine();
  return [engine, engine];
});
