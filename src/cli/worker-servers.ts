import { createServer, type RequestListener } from "node:http";
import { type Measured, measureJournal } from "../fleet/telemetry/index.ts";
import { createWebhookReceiver, type Engine, nodeHandler } from "../fleet/worker/index.ts";
import { openJournal, type Showrunner } from "../index.ts";
import { usageError } from "./cli-error.ts";
import { type Context, journalOf, mediaOptionsOf } from "./context.ts";
import { wholeNumber } from "./input/flag-values.ts";
import type { Flags } from "./program/flags.ts";
import { visible } from "./text/escape.ts";

const THIS_MACHINE = "127.0.0.1";
const OWN_HOSTS = /^(127\.0\.0\.1|localhost)(:\d+)?$/i;
const MOST_MS = 30_000;

export async function openMeasured({ io }: Context, flags: Flags["worker"]) {
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

export async function serveWorker(
  { output }: Context,
  flags: Flags["worker"],
  { show, engine, measured, isReady }: Served,
): Promise<() => Promise<void>> {
  measured?.watch(show);
  const ends: (() => Promise<void>)[] = [];
  const { host = THIS_MACHINE } = flags;
  const health = portOf("--health-port", flags.healthPort);
  const webhooks = portOf("--webhooks", flags.webhooks);
  if (health !== null) {
    const hosts = host === THIS_MACHINE ? OWN_HOSTS : /^/;
    ends.push(await serve("--health-port", host, health, healthOf(isReady, measured, hosts)));
  }
  if (webhooks !== null) {
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

/** `hosts` matches the allowed Host headers, which prevents DNS rebinding. */
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
      isPort ? "use another port" : "use an address of this machine, or 0.0.0.0 for all",
      cause,
    );
  });
  return () =>
    new Promise((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
}

function portOf(flag: string, text: string | undefined): number | null {
  return text === undefined ? null : wholeNumber(flag, text, [1, 65_535], 8080);
}
