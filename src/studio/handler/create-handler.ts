import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { isPipeline } from "../../core/define/index.ts";
import { readingFor } from "../../core/engine/index.ts";
import { cleanText } from "../../core/kit/clean-text.ts";
import { DAY_MS } from "../../core/kit/duration.ts";
import { InvalidOptionError } from "../../core/kit/errors.ts";
import type { Showrunner } from "../../index.ts";
import {
  BusyRefusal,
  matchPath,
  mediaResponse,
  notFound,
  Refusal,
  type Route,
  refusalFor,
  reported,
  responseOf,
  routeOf,
  Shares,
  stderrReport,
  Unplannable,
} from "../served/index.ts";
import { budgetTag, checkedCaller, ENDPOINT, ENDPOINT_NAME, fileOfAddress, ownerOf } from "./callers.ts";
import { EventStreams } from "./event-streams.ts";
import { openApi } from "./open-api.ts";
import type { Call, Caller, Context, Endpoint, Handler, HandlerOptions } from "./options.ts";
import { continueRun, runRoutes } from "./run-routes.ts";
import { SentFiles } from "./sent-files.ts";
import { QuoteFirst, startRoutes } from "./start-routes.ts";

const LEAST_SECRET = 16;
const MOST_MESSAGE = 1_000;
const MOST_FIELD = 300;
const DEFAULT_MOST_BYTES = 64 * 1024 * 1024;
const MOST_KEPT = { caller: 1024 ** 3, all: 16 * 1024 ** 3 };
const MOST_IN_MEMORY = 128 * 1024 * 1024;
/** Memory reserved for a request in addition to its body. */
const REQUEST_BYTES = 64 * 1024;

/**
 * Creates a handler that serves pipelines as endpoints of your server. Callers can price, start, list, follow and stop
 * their own runs, make decisions in them, and get their files. The handler does not close `show`.
 * @throws InvalidOptionError
 */
export function createHandler(show: Showrunner, options: HandlerOptions): Handler {
  const context = contextOf(show, options);
  const streams = new EventStreams(context);
  let document: string | null = null;
  const openApiRoute: Route<Call> = {
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
  const close = () => {
    streams.close();
    context.sent.close();
  };
  return Object.assign(handler, { resumeDue: () => resumeDue(context), close });
}

function contextOf(show: Showrunner, options: HandlerOptions): Context {
  const {
    prefix = "",
    secret = randomBytes(32).toString("base64url"),
    filesDir = ".showrunner/sent",
    mostKept = {},
  } = options;
  if (secret.length < LEAST_SECRET)
    throw new InvalidOptionError("secret", `must have at least ${LEAST_SECRET} characters.`);
  if (!/^(\/[\w.~-]+)*$/.test(prefix)) {
    throw new InvalidOptionError("prefix", `${JSON.stringify(prefix)} is not a path; use a path such as /api/films.`);
  }
  return {
    show,
    options,
    prefix,
    secret,
    endpoints: endpointsOf(options.pipelines),
    sent: new SentFiles({
      folder: resolve(filesDir),
      show,
      most: { each: mostKept.caller ?? MOST_KEPT.caller, all: mostKept.all ?? MOST_KEPT.all },
      now: Date.now,
    }),
    memory: new Shares({ all: MOST_IN_MEMORY, what: "open requests", retryAfterS: 5 }),
    quotes: new Shares({ each: 10_000, all: 200_000, what: "quotes", retryAfterS: 3600, lentMs: DAY_MS }),
    mostBytes: options.mostBytes ?? DEFAULT_MOST_BYTES,
    mistakes: new Map(),
    report: options.onDefect ?? stderrReport("handler"),
  };
}

const RESERVED = ["runs", "media", "openapi.json"];

function endpointsOf(pipelines: HandlerOptions["pipelines"]): ReadonlyMap<string, Endpoint> {
  const endpoints = new Map<string, Endpoint>();
  for (const [name, given] of Object.entries(pipelines)) {
    const endpoint = isPipeline(given) ? { pipeline: given } : (given as Endpoint);
    if (!ENDPOINT_NAME.test(name) || RESERVED.includes(name)) {
      const why = `${JSON.stringify(name)} cannot be part of a URL; use up to 60 letters, digits, ".", "_" and "-", but not ${RESERVED.join(", ")}.`;
      throw new InvalidOptionError("pipelines", why);
    }
    if (!isPipeline(endpoint?.pipeline)) throw new InvalidOptionError("pipelines", `${name} is not a pipeline.`);
    endpoints.set(name, endpoint);
  }
  return endpoints;
}

async function answer(context: Context, routes: readonly Route<Call>[], request: Request): Promise<Response> {
  const { pathname, searchParams: query } = new URL(request.url);
  if (!pathname.startsWith(`${context.prefix}/`)) throw notFound("This address");
  const path = pathname.slice(context.prefix.length);
  const { method } = request;
  const file = method === "GET" || method === "HEAD" ? matchPath("/media/:run/:name", path) : null;
  if (file !== null) return sendMedia(context, request, file);
  const given = await context.options.authorize(request);
  if (given instanceof Response) return given;
  if (given === null) throw new Refusal(401, "UNAUTHORIZED", "Sign in to this server, then send the request again.");
  const caller = callerOf(context, given);
  const { route, params } = routeOf(routes, { method, path });
  const answered = await readingFor(`caller ${budgetTag(caller)}`, () =>
    withShare(context, caller, (share) => route.handle({ context, request, caller, params, query, ...share })),
  );
  return responseOf(answered);
}

async function withShare<T>(
  { memory, sent, report }: Context,
  caller: Caller,
  handle: (share: Pick<Call, "files" | "hold">) => Promise<T>,
): Promise<T> {
  const owner = ownerOf(caller);
  const files = sent.request(owner);
  let held = 0;
  const hold = (sizeBytes: number) => {
    memory.take(owner, sizeBytes);
    held += sizeBytes;
  };
  try {
    hold(REQUEST_BYTES);
    return await handle({ files, hold });
  } finally {
    memory.free(owner, held);
    await files.release().catch((error: unknown) => reported(error, report));
  }
}

/** Checks the caller that `authorize` returned. Logs each kind of mistake only once. */
function callerOf({ report, mistakes }: Context, given: Caller): Caller {
  try {
    return checkedCaller(given);
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error;
    const reference = mistakes.get(error.option) ?? reported(authorizeError(error), report);
    mistakes.set(error.option, reference);
    const message = `This server could not identify you. Give its operator the reference ${reference}.`;
    throw new Refusal(500, "CALLER", message, null, reference);
  }
}

function authorizeError({ message }: InvalidOptionError): Error {
  const effect = "Requests from this caller get status 500; this error is logged only once.";
  return new Error(`\`authorize\` returned an invalid caller: ${message} ${effect}`);
}

async function resumeDue(context: Context): Promise<readonly string[]> {
  const due = (await context.show.due()).filter(({ tags }) => context.endpoints.has(tags[ENDPOINT] ?? ""));
  for (const { runId } of due) await continueRun(context, runId);
  return due.map(({ runId }) => runId);
}

function refused({ report }: Context, error: unknown): Response {
  const refusal = refusalFor(error, { audience: "customer", report });
  const { status, code, message, field, reference } = refusal;
  const problems = refusal instanceof Unplannable ? { problems: refusal.problems } : {};
  const quote = refusal instanceof QuoteFirst ? { quote: refusal.quote } : {};
  // Field and part names come from the sender, and may be very long.
  const [text, at] = [cleanText(message, MOST_MESSAGE), field === null ? null : cleanText(field, MOST_FIELD)];
  const headers = refusal instanceof BusyRefusal ? { "Retry-After": String(refusal.retryAfterS) } : {};
  const body = { error: { code, message: text, field: at, reference, ...problems, ...quote } };
  return Response.json(body, { status, headers });
}

function withHeaders(response: Response): Response {
  if (!response.headers.has("Cache-Control")) response.headers.set("Cache-Control", "no-store");
  response.headers.set("X-Content-Type-Options", "nosniff");
  return response;
}

async function sendMedia(
  context: Context,
  request: Request,
  params: Readonly<Record<string, string>>,
): Promise<Response> {
  const address = { runId: params.run!, name: params.name!, query: new URL(request.url).searchParams };
  const file = fileOfAddress(context, address, Date.now());
  // Files of a removed run are no longer served, even if another run has the same bytes.
  if (file === null || (await context.show.journal.run(file.runId)) === null) throw notFound("This file");
  return mediaResponse(request, context.show.media, file, {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-site",
    "Cache-Control": "private, max-age=3600",
    ETag: `"${file.sha256}"`,
  });
}
