import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { withLauncher } from "../launcher.ts";
import { refusalOf, securityHeaders, sendJson, sendLockedPage, sendRefusal } from "./http/answer.ts";
import { matchPath, notFound, Refusal, type Route, readJson } from "./http/route.ts";
import { sendFile } from "./http/send-file.ts";
import {
  allowedHosts,
  checkedTokens,
  checkSender,
  createSession,
  ownNames,
  proxiedHosts,
  type Session,
  visitorOf,
} from "./http/visitor.ts";
import { GaugeReader } from "./live/gauges.ts";
import { type Dashboard, type DashboardContext, type DashboardOptions, PortInUseError } from "./options.ts";
import { actionRoutes } from "./routes/action-routes.ts";
import { costRoutes } from "./routes/cost-routes.ts";
import { downloadRoutes, mediaRoutes, pageFile, pageFolder, pageRoutes, pickRoutes } from "./routes/file-routes.ts";
import { readRoutes } from "./routes/read-routes.ts";
import { Drivers } from "./runs/driven-runs.ts";
import { RunCache } from "./runs/run-cache.ts";
import type { WelcomeView } from "./views/action-wire.ts";

/** Serves the dashboard until it is closed. @throws PortInUseError */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const context = contextOf(options);
  const { launcher = "showrunner" } = options;
  const folder = await pageFolder();
  const routes: readonly Route[] = [
    ...readRoutes(context),
    ...costRoutes(context),
    ...mediaRoutes(context),
    ...downloadRoutes(context),
    ...pickRoutes(context),
    ...actionRoutes(context),
    { method: "GET", path: "/api/gauges", handle: () => context.gauges.read() },
    welcomeRoute(launcher),
    ...pageRoutes(folder),
  ];
  const host = options.host || "127.0.0.1";
  const tokens = checkedTokens(options);
  const headers = securityHeaders(await options.media.linkOrigin());
  const proxied = proxiedHosts(options.allowHosts);
  const server = createServer();
  const port = await listen(server, options.port ?? 0, host);
  const session = createSession(tokens, port);
  const hosts = allowedHosts({ host, port, allowed: options.allowHosts ?? [], own: ownNames() });
  const onDefect = options.onDefect ?? ((error: unknown) => void process.stderr.write(`dashboard: ${String(error)}\n`));
  server.on("request", (incoming, response) => {
    const request = { incoming, response, routes, session, hosts, proxied, headers };
    void answer(request).catch((error: unknown) => {
      const refusal = refusalOf(error);
      if (refusal === null) onDefect(error);
      const { status, code, message } =
        refusal ?? new Refusal(500, "INTERNAL", "Something went wrong in the dashboard.");
      return fail(request, folder, new Refusal(status, code, withLauncher(message, launcher))).catch(onDefect);
    });
  });
  const origin = `http://${hosts[0]}`;
  const address = (path: string, token = session.token) => `${origin}${path}?token=${encodeURIComponent(token)}`;
  return {
    origin,
    url: address("/"),
    viewerUrl: options.viewerToken === undefined ? null : address("/", options.viewerToken),
    runUrl: (runId) => address(`/runs/${encodeURIComponent(runId)}`),
    async close() {
      for (const stream of context.streams) stream.end();
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

function contextOf(options: DashboardOptions): DashboardContext {
  const { journal, media, pipelines = [], pickedDir = null, loadPipeline = async () => null, reopen } = options;
  let { show } = options;
  let renewing: Promise<void> | null = null;
  const replace = async (open: NonNullable<typeof reopen>) => {
    show = await open(show);
    gauges.forgetBalance();
  };
  const renew = async () => {
    if (reopen === undefined || show.service.kind !== "local") return;
    renewing ??= replace(reopen).finally(() => {
      renewing = null;
    });
    await renewing;
  };
  const gauges = new GaugeReader(
    () => show,
    () => void renew().catch(() => {}),
  );
  return {
    get show() {
      return show;
    },
    renew,
    journal,
    media,
    cache: new RunCache(journal),
    drivers: new Drivers(),
    gauges,
    pipelines,
    pickedDir,
    loadPipeline,
    streams: new Set(),
  };
}

interface Request {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly routes: readonly Route[];
  readonly session: Session;
  readonly hosts: readonly string[];
  readonly proxied: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

async function answer({ incoming, response, routes, session, hosts, proxied, headers }: Request): Promise<void> {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const method = incoming.method ?? "GET";
  checkSender(method, incoming.headers, { hosts, proxied });
  const url = parsedUrl(incoming.url ?? "/");
  const visitor = await visitorOf({ incoming, response, url }, session);
  if (visitor === null) return;
  for (const route of routes) {
    if (route.method !== (method === "HEAD" ? "GET" : method)) continue;
    const params = matchPath(route.path, url.pathname);
    if (params === null) continue;
    if (route.method === "POST" && visitor.role === "viewer") throw readOnly();
    const body = await route.handle({
      incoming,
      response,
      params,
      query: url.searchParams,
      visitor,
      json: () => readJson(incoming),
    });
    if (body !== undefined) sendJson(response, 200, body);
    return;
  }
  throw notFound("This address");
}

function welcomeRoute(launcher: string): Route {
  return {
    method: "GET",
    path: "/api/visitor",
    handle: async ({ visitor }): Promise<WelcomeView> => ({ ...visitor, launcher }),
  };
}

function readOnly(): Refusal {
  return new Refusal(403, "READ_ONLY", "This login sees everything and changes nothing; ask somebody who may act.");
}

function parsedUrl(target: string): URL {
  // Kept as it came: a path is compared segment by segment, and dots in it lead nowhere.
  if (!target.startsWith("/") || !URL.canParse(`http://dashboard${target}`)) throw notFound("This address");
  return new URL(`http://dashboard${target}`);
}

/** A person who navigates sees a page; the page itself reads JSON. */
async function fail({ incoming, response }: Request, folder: string, refusal: Refusal): Promise<void> {
  const isPerson = incoming.headers.accept?.includes("text/html") === true && !response.headersSent;
  if (isPerson && refusal.status === 401) sendLockedPage(response, { isWrong: incoming.method === "POST" });
  else if (isPerson && refusal.status === 404)
    await sendFile(incoming, response, { ...pageFile(folder, "index.html")!, status: 404 });
  else sendRefusal(response, refusal);
}

function listen(server: ReturnType<typeof createServer>, port: number, host: string): Promise<number> {
  return new Promise((done, failed) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      failed(error.code === "EADDRINUSE" ? new PortInUseError(port, error) : error);
    });
    server.listen(port, host, () => done((server.address() as AddressInfo).port));
  });
}
