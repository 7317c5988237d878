import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { cleanText } from "../clean-text.ts";
import { InvalidOptionError, isPipeline, isShowrunnerError, readingFor, type Showrunner } from "../internal.ts";
import { matchPath, notFound, Refusal } from "../served/index.ts";
import { budgetTag, checkedCaller, ENDPOINT } from "./callers.ts";
import { EventStreams } from "./event-streams.ts";
import { openApi } from "./open-api.ts";
import type { Context, Endpoint, Handler, HandlerOptions } from "./options.ts";
import { continueRun, type Route, runRoutes } from "./run-routes.ts";
import { NO_FUNDS, said } from "./run-view.ts";
import { sendMedia } from "./send-media.ts";
import { QuoteFirst, startRoutes, Unplannable } from "./start-routes.ts";

const LEAST_SECRET = 16;
const MOST_MESSAGE = 1_000;
const MOST_FIELD = 300;
const DEFAULT_MOST_BYTES = 64 * 1024 * 1024;

/**
 * Pipelines as endpoints of your server: price, start, list, status, events, decisions, files and stop of the caller's own runs.
 * `show` stays yours to close. @throws InvalidOptionError
 */
export function createHandler(show: Showrunner, options: HandlerOptions): Handler {
  const context = contextOf(show, options);
  const streams = new EventStreams(context);
  let document: string | null = null;
  const openApiRoute: Route = {
    method: "GET",
    path: "/openapi.json",
    async handle() {
      document ??= JSON.stringify(openApi(context));
      return new Response(document, { headers: { "Content-Type": "application/json" } });
    },
  };
  const routes = [openApiRoute, ...runRoutes(streams), ...startRoutes];
  const handler = async (request: Request): Promise<Response> => {
    try {
      return withHeaders(await answer(context, routes, request));
    } catch (error) {
      return withHeaders(refused(context, error));
    }
  };
  return Object.assign(handler, { resumeDue: () => resumeDue(context), close: () => streams.close() });
}

function contextOf(show: Showrunner, options: HandlerOptions): Context {
  const { prefix = "", secret = randomBytes(32).toString("base64url"), filesDir = ".showrunner/sent" } = options;
  if (secret.length < LEAST_SECRET) throw new InvalidOptionError("secret", `give at least ${LEAST_SECRET} characters.`);
  if (!/^(\/[\w.~-]+)*$/.test(prefix)) {
    throw new InvalidOptionError("prefix", `${JSON.stringify(prefix)} is no path; write it like /api/films.`);
  }
  return {
    show,
    options,
    prefix,
    secret,
    endpoints: endpointsOf(options.pipelines),
    filesDir: resolve(filesDir),
    mostBytes: options.mostBytes ?? DEFAULT_MOST_BYTES,
    onDefect: options.onDefect ?? ((error) => void process.stderr.write(`handler: ${String(error)}\n`)),
  };
}

const RESERVED = ["runs", "media", "openapi.json"];

function endpointsOf(pipelines: HandlerOptions["pipelines"]): ReadonlyMap<string, Endpoint> {
  const endpoints = new Map<string, Endpoint>();
  for (const [name, given] of Object.entries(pipelines)) {
    const endpoint = isPipeline(given) ? { pipeline: given } : (given as Endpoint);
    if (!/^[A-Za-z0-9][\w.-]{0,59}$/.test(name) || RESERVED.includes(name)) {
      const why = `${JSON.stringify(name)} cannot be part of an address; use up to 60 letters, digits, ".", "_" and "-", and none of ${RESERVED.join(", ")}.`;
      throw new InvalidOptionError("pipelines", why);
    }
    if (!isPipeline(endpoint?.pipeline)) throw new InvalidOptionError("pipelines", `${name} is no pipeline.`);
    endpoints.set(name, endpoint);
  }
  return endpoints;
}

async function answer(context: Context, routes: readonly Route[], request: Request): Promise<Response> {
  const { pathname, searchParams: query } = new URL(request.url);
  if (!pathname.startsWith(`${context.prefix}/`)) throw notFound("This address");
  const path = pathname.slice(context.prefix.length);
  const method = request.method === "HEAD" ? "GET" : request.method;
  const file = method === "GET" ? matchPath("/media/:run/:name", path) : null;
  if (file !== null) return sendMedia(context, request, file);
  const given = await context.options.authorize(request);
  if (given instanceof Response) return given;
  if (given === null) throw new Refusal(401, "UNAUTHORIZED", "Say who you are, as this server asks for it.");
  const caller = checkedCaller(given);
  for (const route of routes) {
    const params = route.method === method ? matchPath(route.path, path) : null;
    if (params === null) continue;
    const answered = await readingFor(`caller ${budgetTag(caller)}`, () =>
      route.handle({ context, request, caller, params, query }),
    );
    return answered instanceof Response ? answered : Response.json(answered);
  }
  throw notFound("This address");
}

/** Continues what an earlier process left: runs that were under way, or whose decision came when nobody drove them. */
async function resumeDue(context: Context): Promise<readonly string[]> {
  const due = (await context.show.due()).filter(({ tags }) => context.endpoints.has(tags[ENDPOINT] ?? ""));
  for (const { runId } of due) await continueRun(context, runId);
  return due.map(({ runId }) => runId);
}

function refused(context: Context, error: unknown): Response {
  const refusal = refusalOf(error);
  if (refusal === null) context.onDefect(error);
  const { status, code, message, field } = refusal ?? new Refusal(500, "INTERNAL", "Something went wrong here.");
  const problems = refusal instanceof Unplannable ? { problems: refusal.problems } : {};
  const quote = refusal instanceof QuoteFirst ? { quote: refusal.quote } : {};
  // Names of fields and parts are the sender's, and as long as a body.
  const [text, at] = [cleanText(message, MOST_MESSAGE), field === null ? null : cleanText(field, MOST_FIELD)];
  return Response.json({ error: { code, message: text, field: at, ...problems, ...quote } }, { status });
}

const STATUS: Readonly<Record<string, number>> = {
  RUN_UNKNOWN: 404,
  OVER_BUDGET: 402,
  INVALID_OPTION: 400,
  PLAN_PROBLEMS: 422,
};

/** The refusal for a failure that a caller can do something about; null for any other. */
function refusalOf(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  // What `authorize` says wrongly is no fault of the caller's.
  if (!isShowrunnerError(error)) return null;
  if (error instanceof InvalidOptionError) {
    const isCallers = ["step", "pick", "value", "note", "title"].includes(error.option);
    return isCallers ? new Refusal(400, error.code, said(error.message)!, error.option) : null;
  }
  // What the wallet holds, and where it is funded, is the operator's.
  if (error.code === "WALLET_SHORT") return new Refusal(402, error.code, NO_FUNDS);
  return new Refusal(STATUS[error.code] ?? 409, error.code, said(error.message)!);
}

function withHeaders(response: Response): Response {
  if (!response.headers.has("Cache-Control")) response.headers.set("Cache-Control", "no-store");
  response.headers.set("X-Content-Type-Options", "nosniff");
  return response;
}
