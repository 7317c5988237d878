import { createServer } from "node:http";
import { resolve } from "node:path";
import { startWorker, type Worker } from "../../worker/index.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import { type Context, sayWhere, withShowrunner } from "../context.ts";
import { type EngineFlags, openEngine, pipelinesIn } from "../engine.ts";
import { readDuration } from "../input/flag-values.ts";
import { visible } from "../text/escape.ts";

export interface EngineWorkerFlags extends EngineFlags {
  readonly pipelines?: string | undefined;
  readonly healthPort?: string | undefined;
  readonly slices?: string | undefined;
  readonly localWork?: "delegated" | "inline" | undefined;
  readonly drain?: string | undefined;
}

/** Requests are answered within a slice, or by a later one: none of them waits for minutes while it holds a run. */
const SHORT_RETRIES = { retry: { maxAttempts: 2, maxElapsedMs: 15_000 } } as const;

/** `showrunner worker --engine NAME`: drives the runs of the journal in slices, beside any number of other workers. */
export async function engineWorker(context: Context, flags: EngineWorkerFlags): Promise<ExitCode> {
  const { io, output } = context;
  const drainMs = readDuration("--drain", flags.drain ?? "30s", "30s or 2m");
  const folder = resolve(io.cwd, flags.pipelines ?? ".");
  const work = async (show: Parameters<Parameters<typeof withShowrunner>[1]>[0]) => {
    sayWhere(show, context);
    show.notifications.start();
    const engine = await openEngine(context, flags);
    const worker = await startWorker({
      ...{ show, engine, findPipeline: pipelinesIn(folder), localWork: flags.localWork },
      slices: countOf("--slices", flags.slices),
      onSlice: (runId, { status, wakeAt, message }) => {
        if (flags.json && wakeAt === null) output.print(JSON.stringify({ id: runId, status, message }));
        else if (wakeAt === null || status === "left") {
          output.say(`${visible(runId)}  ${status}${message === null ? "" : `: ${visible(message)}`}`);
        }
      },
      onError: (error) =>
        output.say(`${visible(error instanceof Error ? error.message : String(error))} (tried again)`),
    });
    const health = await serveHealth(countOf("--health-port", flags.healthPort), worker);
    output.say(
      `Drives runs in slices (engine ${flags.engine}, code in ${visible(folder)}). SIGTERM stops in good order.`,
    );
    await aborted(io.interrupt);
    output.say("Stops: no new slices; what is under way is seen through.");
    await worker.stop({ drainMs });
    health?.close();
    return ExitCode.interrupted;
  };
  return withShowrunner(flags, work, { clientOptions: SHORT_RETRIES });
}

/** `/healthz`: the process answers. `/readyz`: it takes work; 503 once it stops or its journal cannot be read. */
async function serveHealth(port: number | undefined, worker: Worker) {
  if (port === undefined) return null;
  const server = createServer((request, response) => {
    const path = request.url?.split("?")[0];
    const status = path === "/healthz" ? 200 : path !== "/readyz" ? 404 : worker.isReady() ? 200 : 503;
    response.writeHead(status, { "content-type": "text/plain" }).end(`${status === 200 ? "ok" : "no"}\n`);
  });
  await new Promise<void>((done, failed) => server.once("error", failed).listen(port, done));
  return server;
}

function countOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 1 && count <= 65_535) return count;
  throw new CliError("USAGE", `${flag} ${visible(text)} is no number from 1`, { next: `write ${flag} 8080` });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((done) => signal.addEventListener("abort", () => done(), { once: true }));
}
