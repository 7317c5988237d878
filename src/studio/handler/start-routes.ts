import { parseUsd } from "../../core/kit/money.ts";
import { loadRun, type QuoteDocument } from "../../core/view/index.ts";
import { type Quote, QuoteRefusedError } from "../../index.ts";
import {
  badRequest,
  inputChanges,
  notFound,
  optionalText,
  quoteDocument,
  Refusal,
  type Route,
  reported,
  unplannable,
} from "../served/index.ts";
import { budgetTag, ENDPOINT, leftMicros, overBudget, runIdOf } from "./callers.ts";
import type { Call } from "./options.ts";
import { readInput } from "./read-input.ts";
import { drive, viewOf } from "./run-routes.ts";

export const startRoutes: readonly Route<Call>[] = [
  { method: "POST", path: "/:endpoint/quote", handle: quote },
  { method: "POST", path: "/:endpoint/runs", handle: start },
];

async function priced(call: Call) {
  const { context, params, files } = call;
  const endpoint = context.endpoints.get(params.endpoint!);
  if (endpoint === undefined) throw notFound("This pipeline");
  const { input, body } = await readInput(call, endpoint);
  const filesFrom = [...(endpoint.files ?? []), ...files.paths];
  const { maxUnquoted } = endpoint;
  context.quotes.lend(files.owner, Date.now());
  files.mayBeCopied = true;
  const quoted = await context.show.quote(endpoint.pipeline, input, { maxUnquoted, filesFrom });
  if (!quoted.ok) throw unplannable(quoted.problems, { audience: "customer", report: context.report });
  return { endpoint, input, body, filesFrom, quote: quoted };
}

async function quote(call: Call): Promise<QuoteDocument> {
  return offered(call, (await priced(call)).quote);
}

async function offered({ context, caller, files }: Call, quote: Quote): Promise<QuoteDocument> {
  await files.keepFor({ until: quote.expiresAt! });
  return quoteDocument(quote, await leftMicros(context, caller));
}

const KEY = /^[\x21-\x7e]{1,200}$/;

/** Starts a run. If a run with the same key exists, continues and returns that run instead. */
async function start(call: Call): Promise<Response> {
  const { context, caller, params, request, files } = call;
  const key = request.headers.get("Idempotency-Key") ?? "";
  if (!KEY.test(key)) {
    const message =
      "Send an Idempotency-Key header with a key that is unique to the run (1 to 200 visible ASCII characters).";
    throw badRequest(message, "Idempotency-Key");
  }
  const { endpoint, input, body, filesFrom, quote } = await priced(call);
  const id = runIdOf(caller, key);
  const { show, options } = context;
  const isThere = (await show.journal.run(id)) !== null;
  const agreed = optionalText(body, "quote", 100);
  if (!isThere) await refuseOverBudget(call, quote);
  if (!isThere && agreed === undefined) {
    const message = `quote: this run costs at most ${quote.maximumUsd} dollars; nothing was started. To agree to this price, start the run with the quote's id.`;
    throw new QuoteFirst(428, "QUOTE_NEEDED", message, await offered(call, quote));
  }
  const how = {
    id,
    title: optionalText(body, "title", 120),
    tags: { ...caller.tags, [ENDPOINT]: params.endpoint! },
    ...budgetOf(call, body, { isLimited: isThere || agreed !== undefined }),
    quote: agreed,
    agree: optionalText(body, "agree", 20),
    maxUnquoted: endpoint.maxUnquoted,
    filesFrom,
    source: endpoint.source,
  };
  // Keeps the files before the start, so that the run finds them even if this process dies or the engine cannot be
  // reached.
  await files.keepFor({ run: id });
  try {
    if (options.engine === undefined) drive(context, await show.run(endpoint.pipeline, input, how));
    else await options.engine.wake((await show.start(endpoint.pipeline, input, how)).id);
  } catch (error) {
    if (!(error instanceof QuoteRefusedError)) throw error;
    const message = `quote: ${inputChanges(error) ?? "it is no longer valid"}. Nothing was started; the run would now cost at most ${quote.maximumUsd} dollars.`;
    throw new QuoteFirst(409, error.code, message, await offered(call, quote));
  } finally {
    await keepNamed(call, id).catch((error: unknown) => reported(error, context.report));
  }
  const view = await viewOf(context, { runId: id });
  return Response.json(view, { status: isThere ? 200 : 201, headers: { Location: `${context.prefix}/runs/${id}` } });
}

/** Keeps only the files named in the run's input, or none if the run could not be started. */
async function keepNamed({ context, files }: Call, run: string): Promise<void> {
  if (files.paths.size === 0) return;
  const { journal } = context.show;
  const isThere = (await journal.run(run)) !== null;
  const named = isThere ? textsIn((await loadRun(journal, run)).planned.input) : [];
  await files.keepOnly(run, new Set(named));
}

async function refuseOverBudget({ context, caller }: Call, { expectedMicros }: Quote): Promise<void> {
  const left = await leftMicros(context, caller);
  if (left !== null && expectedMicros > left) throw overBudget(expectedMicros, left);
}

/**
 * Returns the run's budget options. A budget is required unless the caller has one or the run already has a limit, from
 * an accepted quote or an earlier start.
 */
function budgetOf(
  { caller }: Call,
  body: Readonly<Record<string, unknown>>,
  { isLimited }: { readonly isLimited: boolean },
) {
  const budget = optionalText(body, "budget", 20);
  if (caller.budget !== undefined) {
    if (budget === undefined) return { budget: caller.budget, budgetTag: budgetTag(caller) };
    throw badRequest("budget: your budget covers all your runs; leave this field out.", "budget");
  }
  if (budget === undefined && isLimited) return {};
  if (budget === undefined || parseUsd(budget) === null) {
    throw badRequest('budget: set the maximum cost of the run in dollars, such as "1.50".', "budget");
  }
  return { budget };
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) yield* textsIn(inner);
}

export class QuoteFirst extends Refusal {
  readonly quote: QuoteDocument;

  constructor(status: 409 | 428, code: string, message: string, quote: QuoteDocument) {
    super(status, code, message, "quote");
    this.quote = quote;
  }
}
