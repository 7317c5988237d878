import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { sendResponse } from "../../core/kit/http.ts";
import { withLauncher } from "../../core/kit/launcher.ts";
import {
  notFound,
  Refusal,
  readJson,
  refusalFor,
  requestOf,
  responseOf,
  routeOf,
  stderrReport,
} from "../served/index.ts";
import { BOUNDS, lockedPage, type Route, refusalOf, refusedResponse, securityHeaders } from "./http/route.ts";
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
import { linkRoutes, operatorLinkRoutes, publicPlace } from "./links/link-routes.ts";
import { SHARED } from "./links/review-link.ts";
import { type Dashboard, type DashboardContext, type DashboardOptions, PortInUseError } from "./options.ts";
import { actionRoutes } from "./routes/action-routes.ts";
import { costRoutes } from "./routes/cost-routes.ts";
import { downloadRoutes, mediaRoutes, pageFile, pageFolder, pageRoutes, pickRoutes } from "./routes/file-routes.ts";
import { readRoutes } from "./routes/read-routes.ts";
import { resumeRoutes } from "./routes/resume-routes.ts";
import { reviewRoutes } from "./routes/review-routes.ts";
import { RunCache } from "./runs/run-cache.ts";
import { Drivers, GaugeReader } from "./runs/watch.ts";

export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const context = contextOf(options);
  const { launcher = "showrunner" } = options;
  const folder = await pageFolder();
  const open = publicPlace(options);
  const routes: readonly Route[] = [
    ...readRoutes(context),
    ...costRoutes(context),
    ...mediaRoutes(context),
    ...downloadRoutes(context),
    ...pickRoutes(context),
    ...actionRoutes(context),
    ...resumeRoutes(context),
    ...reviewRoutes(context),
    ...operatorLinkRoutes(context, open?.origin ?? null),
    { method: "GET", path: "/api/gauges", handle: () => context.gauges.read() },
    { method: "GET", path: "/api/visitor", handle: async ({ visitor }) => ({ ...visitor, launcher }) },
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
  const shared = open?.hosts ?? [];
  const { onDefect } = context;
  const isPublic = (host: string) => shared.includes(host);
  const links = {
    routes: linkRoutes({ context, folder, isPublic }),
    hosts: [...hosts, ...shared],
    proxied: [...proxied, ...shared],
  };
  server.on("request", (incoming, response) => {
    const served = { incoming, routes, session, hosts, proxied, links };
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    const isShared = isByLink(urlOf(incoming));
    if (isShared) response.setHeader("X-Robots-Tag", "noindex, nofollow, noarchive");
    const answered = answer(served).catch((error: unknown) => {
      if (isShared) return refusedResponse(refusalFor(error, { audience: "reviewer", report: onDefect }));
      const refusal = refusalOf(error);
      if (refusal === null) onDefect(error);
      const { status, code, message } =
        refusal ??
        new Refusal(500, "INTERNAL", "Something went wrong in the dashboard's server; see its log for the error.");
      return refused(incoming, folder, new Refusal(status, code, withLauncher(message, launcher)));
    });
    answered.then((found) => sendResponse(response, found)).catch(onDefect);
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
      await shut(server);
    },
  };
}

function contextOf(options: DashboardOptions): DashboardContext {
  const { journal, media, pipelines = [], pickedDir = null, loadPipeline = async () => null, reopen } = options;
  let { show } = options;
  let isRenewing = false;
  const replace = async (open: NonNullable<typeof reopen>) => {
    show = await open(show);
    gauges.forgetBalance();
  };
  /** Replaces `show` if its service has ended. */
  const renew = () => {
    if (isRenewing || reopen === undefined || show.service.kind !== "local") return;
    const end = () => {
      isRenewing = false;
    };
    isRenewing = true;
    replace(reopen).then(end, end);
  };
  const gauges = new GaugeReader(() => show, renew);
  return {
    get show() {
      return show;
    },
    journal,
    media,
    cache: new RunCache(journal),
    drivers: new Drivers(),
    gauges,
    pipelines,
    pickedDir,
    loadPipeline,
    onDefect: options.onDefect ?? stderrReport("dashboard"),
    streams: new Set(),
  };
}

interface Served {
  readonly incoming: IncomingMessage;
  readonly routes: readonly Route[];
  readonly session: Session;
  readonly hosts: readonly string[];
  readonly proxied: readonly string[];
  readonly links: Pick<Served, "hosts" | "proxied"> & { readonly routes: ReturnType<typeof linkRoutes> };
}

const METHODS = ["GET", "HEAD", "POST"];

async function answer({ incoming, routes, session, hosts, proxied, links }: Served): Promise<Response> {
  const method = incoming.method ?? "GET";
  const url = urlOf(incoming);
  checkSender(method, incoming.headers, isByLink(url) ? links : { hosts, proxied });
  if (url === null || !METHODS.includes(method)) throw notFound("This address");
  const request = requestOf(incoming, url);
  const { pathname: path, searchParams: query } = url;
  if (isByLink(url)) {
    const { route, params } = routeOf(links.routes, { method, path });
    const remoteAddress = incoming.socket.remoteAddress ?? "";
    return responseOf(await route.handle({ request, params, query, remoteAddress }));
  }
  const visitor = await visitorOf(request, url, session);
  if (visitor instanceof Response) return visitor;
  const { route, params } = routeOf(routes, { method, path });
  if (route.method === "POST" && visitor.role === "viewer")
    throw new Refusal(403, "READ_ONLY", "This login is read-only; ask someone with full access to do this.");
  return responseOf(await route.handle({ request, params, query, visitor, json: () => readJson(request, BOUNDS) }));
}

function isByLink(url: URL | null): boolean {
  return url !== null && (url.pathname === SHARED || url.pathname.startsWith(`${SHARED}/`));
}

function urlOf({ url: target = "/" }: IncomingMessage): URL | null {
  return target.startsWith("/") && URL.canParse(`http://dashboard${target}`)
    ? new URL(`http://dashboard${target}`)
    : null;
}

async function refused({ method, headers }: IncomingMessage, folder: string, refusal: Refusal): Promise<Response> {
  const isPerson = headers.accept?.includes("text/html") === true;
  if (isPerson && refusal.status === 401) return lockedPage({ isWrong: method === "POST" });
  if (isPerson && refusal.status === 404)
    return pageFile({ method: "GET", headers: new Headers() }, folder, "index.html", 404);
  return refusedResponse(refusal);
}

export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((done, failed) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      failed(error.code === "EADDRINUSE" ? new PortInUseError(port, error) : error);
    });
    server.listen(port, host, () => done((server.address() as AddressInfo).port));
  });
}

export async function shut(server: Server): Promise<void> {
  const closed = new Promise((done) => server.close(done));
  server.closeAllConnections();
  await closed;
}
