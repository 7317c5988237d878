import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClientOptions, createClient } from "../../src/core/api/index.ts";
import {
  createMemoryJournal,
  openShowrunner,
  type Pipeline,
  type ResumeOptions,
  type RunOptions,
} from "../../src/index.ts";
import { AnsweringService, ORIGIN } from "./answering-service.ts";
import { skippingClock } from "./simulated-clock.ts";

let worlds = 0;
const folder = mkdtempSync(join(tmpdir(), "answering-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Opens a Showrunner that uses an answering service and a clock that skips waits. */
export async function openAnswering(
  options: Parameters<typeof openShowrunner>[0] = {},
  { timeoutMs }: Pick<ClientOptions, "timeoutMs"> = {},
) {
  const service = new AnsweringService();
  const clock = skippingClock(Date.now(), 1);
  const sending = { apiKey: "key_1:secret", dispatcher: service, clock, random: () => 0.5, timeoutMs };
  const client = createClient({ baseUrl: `${ORIGIN}/v3`, ...sending });
  const journal = createMemoryJournal({ now: () => clock.now() });
  const home = join(folder, `${++worlds}`);
  const mediaDir = join(home, "media");
  const show = await openShowrunner({ client, journal, clock, follow: "poll", mediaDir, ...options });
  const outDir = join(home, "out");
  /** Runs the pipeline, as run `x` unless the options name another, until it ends or pauses. */
  const run = async (pipeline: Pipeline, input: unknown = {}, more: RunOptions = {}) =>
    (await show.run(pipeline, input, { id: "x", outDir, ...more })).result();
  const resume = async (more: ResumeOptions = {}) => (await show.resume("x", more)).result();
  return { service, show, journal, clock, client, home, outDir, run, resume };
}
