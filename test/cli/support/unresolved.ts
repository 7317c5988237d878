import { join } from "node:path";
import { z } from "zod";
import { type Client, createClient, UnknownOutcomeError } from "../../../src/core/api/index.ts";
import { openShowrunner, pipeline } from "../../../src/index.ts";
import { skippingClock } from "../../support/simulated-clock.ts";
import { emptyFolder } from "./cli.ts";
import type { Service } from "./service.ts";

export const bell = pipeline("bell", {
  input: z.object({}),
  build: ({ job }) => ({ bell: job("bell", "image-1", { prompt: "a bell" }) }),
});

/** A client whose submit is never answered; it may have arrived. */
function unlucky(client: Client, arrives: boolean): Client {
  const submit: Client["submit"] = async (request, options) => {
    if (arrives) await client.submit(request, options);
    const cause = new Error("no answer");
    throw new UnknownOutcomeError({ model: request.model, idempotencyKey: request.idempotencyKey ?? "", cause });
  };
  return { ...client, submit };
}

/** Runs `x` until it waits for a decision about its step `bell`, in the folder's journal. */
export async function unresolvedRun(
  service: Service,
  arrives: boolean,
  cwd = emptyFolder(),
): Promise<{ readonly cwd: string; readonly env: Service["env"] }> {
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  const options = { journal: join(cwd, ".showrunner/journal.db"), clock: skippingClock(), idempotencyWindowMs: 1 };
  const show = await openShowrunner({ client: unlucky(client, arrives), ...options });
  const run = await show.run(bell, {}, { id: "x", outDir: join(cwd, "out") });
  const { pause } = await run.result();
  if (pause?.reason !== "unresolved") throw new Error(`the run paused for ${pause?.reason}`);
  await show.close();
  await client.close();
  return { cwd, env: service.env };
}
