import { createServer, type RequestListener } from "node:http";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { dollars, formatUsd } from "../../core/kit/money.ts";
import { liveText } from "../../core/view/index.ts";
import { type Measured, measureJournal } from "../../fleet/telemetry/index.ts";
import {
  createWebhookReceiver,
  type Engine,
  nodeHandler,
  startWorker,
  type WorkerOptions,
} from "../../fleet/worker/index.ts";
import { openJournal, type Showrunner } from "../../index.ts";
import { ExitCode, usageError } from "../cli-error.ts";
import { type Context, journalOf, mediaOptionsOf, sayWhere, withShowrunner } from "../context.ts";
import { openEngine, pipelinesIn } from "../engine.ts";
import { checkWorkerFlags } from "../input/run-options.ts";
import type { Flags } from "../program/flags.ts";
import { visible, visibleError } from "../text/escape.ts";

/** Limits retries, so that no request blocks a run for minutes. */
const SHORT_RETRIES = { retry: { maxAttempts: 2, maxElapsedMs: 15_000 } } as const;
/** How often to search the journal for due runs that the engine did not wake, in milliseconds. */
const SEARCHED_EVERY_MS = 1_000;
const LOOK_EVERY_MS = 100;

export async function worker(context: Context, flags: Flags["worker"]): Promise<ExitCode> {
  checkWorkerFlags(flags);
  const { io, output } = context;
  const folder = resolve(io.cwd, flags.pipelines ?? ".");
  const opened = await openMeasured(context, flags);
  const { measured = null, options = {} } = opened ?? {};
  const work = async (show: Showrunner) => {
    sayWhere(show, context);
    show.notifications.start();
    const engine = await openEngine(context, flags);
    // Reading `interrupt` installs the signal handlers. From here on, a signal stops the worker gracefully.
    const { interrupt } = io;
    const driving = await startWorker({
      show,
      engine,
      findPipeline: pipelinesIn(folder),
      localWork: flags.localWork,
      slices: flags.slices,
      waitForFundsMs: flags.waitForFunds ?? 0,
      ...(engine.isOfProcess && { sweepEveryMs: SEARCHED_EVERY_MS, onEvents: sayEvents(context) }),
      webhooks: flags.webhooks !== undefined,
      onSlice: sayEnd(context),
      onError: (error) => output.say(`${visibleError(error)} (will try again)`),
    });
    let close = async () => {};
    // If a port cannot be opened, the command ends and closes the engine.
    try {
      close = await serveWorker(context, flags, { show, engine, measured, isReady: () => driving.isReady() });
      output.say(
        `Worker started (engine ${flags.engine ?? "timers"}, code in ${visible(folder)}). Press Ctrl-C to stop gracefully.`,
      );
      while (!interrupt.aborted) {
        if (flags.once && driving.isIdle()) return driving.failed().length > 0 ? ExitCode.unfinished : ExitCode.done;
        await delay(flags.once ? LOOK_EVERY_MS : SEARCHED_EVERY_MS, undefined, { signal: interrupt }).catch(() => {});
      }
      output.say("Stopping: taking no new work and finishing work in progress.");
    } finally {
      await driving.stop({ drainMs: flags.drain });
      await close();
    }
    return ExitCode.interrupted;
  };
  try {
    return await withShowrunner(flags, work, { ...options, clientOptions: SHORT_RETRIES });
  } finally {
    await opened?.close();
  }
}

function sayEvents({ output }: Context): WorkerOptions["onEvents"] {
  return (events) => {
    for (const event of events) {
      const line = liveText(event.event);
      if (line !== null) output.say(`${visible(event.runId)}  ${visible(line)}`);
    }
  };
}

function sayEnd({ output }: Context): WorkerOptions["onSlice"] {
  const left = new Map<string, string | null>();
  return (id, { status, message, driven }) => {
    if (status === "left") {
      if (left.get(id) !== message)
        output.say(`${visible(id)}: ${visible(message ?? "this worker cannot execute the run")} (will try again)`);
      left.set(id, message);
    } else if (driven !== null) left.delete(id);
    if (driven === null || status === "planned" || status === "running") return;
    const { spentMicros, pause } = driven;
    const cost = formatUsd(spentMicros);
    output.printJsonLine({ id, status, cost, pause: pause && { reason: pause }, message });
    output.print(`${visible(id)}\t${status}\t${dollars(cost)}`);
    if (pause !== null) output.say(`${visible(id)}  ${pause}: ${visible(message ?? "")}`);
  };
}

const THIS_MACHINE = "127.0.0.1";
const OWN_HOSTS = /^(127\.0\.0\.1|localhost)(:\d+)?$/i;
const MOST_MS = 30_000;

async function openMeasured({ io }: Context, flags: Flags["worker"]) {
  if (flags.healthPort === undefined) return null;
  const store = await openJournal(journalOf(io, flags));
  const measured = await measureJournal(store);
  const options = { journal: measured.journal, ...mediaOptionsOf(io, flags) };
  return { measured, options, close: () => store.close() };
}

interface Served {
  readonly show: Showrunner;
  readonly engine?: Engine;
  readonly measured: Measured | null;
  isReady(): boolean;
}

async function serveWorker(
  { output }: Context,
  flags: Flags["worker"],
  { show, engine, measured, isReady }: Served,
): Promise<() => Promise<void>> {
  measured?.watch(show);
  const ends: (() => Promise<void>)[] = [];
  const { host = THIS_MACHINE, healthPort, webhooks } = flags;
  if (healthPort !== undefined) {
    const hosts = host === THIS_MACHINE ? OWN_HOSTS : /^/;
    ends.push(await serve("--health-port", host, healthPort, healthOf(isReady, measured, hosts)));
  }
  if (webhooks !== undefined) {
    const onDelivery = (jobId: string, { outcome }: { readonly outcome: string }) =>
      output.say(`Webhook for ${visible(jobId)}: ${outcome}.`);
    const onNews = (message: string) => output.say(visible(message));
    const receive = nodeHandler(createWebhookReceiver({ show, engine, onDelivery, onNews }));
    ends.push(await serve("--webhooks", host, webhooks, (request, response) => void receive(request, response)));
    output.say(`Receiving the service's webhooks on ${visible(host)}, port ${webhooks}.`);
  }
  return async () => {
    for (const end of ends) await end();
  };
}

/**
 * Answers health checks. `hosts` matches the allowed Host headers. Requests to other hosts are refused, to prevent DNS
 * rebinding.
 */
function healthOf(isReady: () => boolean, measured: Measured | null, hosts: RegExp): RequestListener {
  return async (request, response) => {
    if (!hosts.test(request.headers.host ?? "")) {
      return void response.writeHead(403, PLAIN).end("This host name is not allowed for this worker.\n");
    }
    if ((await measured?.handle(request, response)) === true) return;
    const path = request.url?.split("?")[0];
    const status = path === "/healthz" ? 200 : path !== "/readyz" ? 404 : isReady() ? 200 : 503;
    response.writeHead(status, PLAIN).end(`${status === 200 ? "ok" : "no"}\n`);
  };
}

const PLAIN = { "content-type": "text/plain" };

async function serve(
  flag: string,
  host: string,
  port: number,
  listener: RequestListener,
): Promise<() => Promise<void>> {
  const server = createServer({ requestTimeout: MOST_MS, headersTimeout: MOST_MS }, listener);
  const listening = new Promise<void>((done, failed) => server.once("error", failed).listen(port, host, done));
  await listening.catch((cause: NodeJS.ErrnoException) => {
    const isPort = cause.code === "EADDRINUSE" || cause.code === "EACCES";
    const what = isPort ? `${flag} ${port}` : `--host ${visible(host)}`;
    throw usageError(
      `cannot listen on ${what}: ${cause.message}`,
      isPort ? "use another port" : "use an address of this machine, or 0.0.0.0 for all of its addresses",
      cause,
    );
  });
  return () =>
    new Promise((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
}
