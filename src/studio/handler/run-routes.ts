import { parseUsd } from "../../core/kit/money.ts";
import {
  type CallerDocument,
  loadRun,
  type RunRow,
  type RunState,
  RunView,
  runLine,
  statusNow,
} from "../../core/view/index.ts";
import type { ResumeOptions } from "../../index.ts";
import {
  badRequest,
  decide,
  Refusal,
  type Route,
  reported,
  textField,
  verdictIn,
  wholeNumber,
} from "../served/index.ts";
import { budgetTag, documentOf, ENDPOINT, ENDPOINT_NAME, leftMicros, ownRun } from "./callers.ts";
import type { EventStreams } from "./event-streams.ts";
import type { Call, Context, Endpoint } from "./options.ts";
import { jsonBody, refusePaths } from "./read-input.ts";

const MOST_LISTED = 200;

export function runRoutes(streams: EventStreams): readonly Route<Call>[] {
  return [
    { method: "GET", path: "/runs", handle: list },
    { method: "GET", path: "/runs/:run", handle: async (call) => viewOf(call.context, await ownRun(call)) },
    { method: "GET", path: "/runs/:run/events", handle: async (call) => streams.open(call, await ownRun(call)) },
    { method: "POST", path: "/runs/:run/decisions", handle: decideOn },
    { method: "POST", path: "/runs/:run/stop", handle: stop },
  ];
}

export async function viewOf(context: Context, { runId }: Pick<RunRow, "runId">): Promise<CallerDocument> {
  const { journal } = context.show;
  const row = await journal.run(runId);
  const isInterrupted = row !== null && statusNow(row, Date.now()).status === "interrupted";
  const run = new RunView(await loadRun(journal, runId));
  const { seq } = run.state;
  // Includes decisions that the executing process has not read yet.
  return documentOf(context, run.foresee(await journal.inbox(runId)), { isInterrupted, seq });
}

async function list({ context, caller, query }: Call) {
  const limit = wholeNumber(query, "limit") ?? 50;
  const before = wholeNumber(query, "before");
  const pipeline = query.get("pipeline");
  if (pipeline !== null && !ENDPOINT_NAME.test(pipeline)) return { runs: [] };
  const tags = { ...caller.tags, ...(pipeline !== null && { [ENDPOINT]: pipeline }) };
  const runs = await context.show.runs({ tags, limit: Math.min(limit, MOST_LISTED), before });
  return { runs: runs.map((row) => ({ ...runLine(row), pipeline: row.tags[ENDPOINT] ?? row.pipeline })) };
}

async function decideOn(call: Call): Promise<CallerDocument> {
  const { context, caller } = call;
  const row = await ownRun(call);
  if (caller.mayDecide === false)
    throw new Refusal(403, "READ_ONLY", "You do not have permission to approve or reject steps; ask someone who does.");
  const body = await jsonBody(call);
  const step = textField(body, "step");
  const { approve } = body;
  if (typeof approve !== "boolean") throw badRequest("`approve` must be true or false.", "approve");
  // A replacement for the value shown is checked like any input.
  refusePaths(body.value, "value");
  const by = caller.name === undefined ? undefined : { name: caller.name, verified: true };
  await decide(context.show, row.runId, step, { ...verdictIn(body, approve), by });
  await continueRun(context, row.runId, await budgetNow(call, row));
  return viewOf(context, row);
}

async function budgetNow({ context, caller }: Call, { runId }: RunRow): Promise<string | undefined> {
  const { planned } = await loadRun(context.show.journal, runId);
  // A decision in a run with someone else's budget does not change that budget.
  const isShared = planned.budgetTag === budgetTag(caller) && (await leftMicros(context, caller)) !== null;
  return isShared && parseUsd(caller.budget!) !== planned.budgetMicros ? caller.budget : undefined;
}

async function stop(call: Call): Promise<CallerDocument> {
  await jsonBody(call);
  const row = await ownRun(call);
  await call.context.show.stop(row.runId);
  return viewOf(call.context, row);
}

export async function continueRun(context: Context, runId: string, budget?: string): Promise<void> {
  const { show, options } = context;
  if (options.engine !== undefined) return options.engine.wake(runId);
  const state = await loadRun(show.journal, runId);
  const endpoint = endpointOf(context, state);
  const how: ResumeOptions = { budget, ...(endpoint !== null && { pipeline: endpoint.pipeline, compare: false }) };
  try {
    drive(context, await show.resume(runId, how));
  } catch (error) {
    reported(error, context.report);
  }
}

export function drive({ report }: Context, handle: { result(): Promise<unknown> }): void {
  handle.result().catch((error: unknown) => {
    if ((error as { readonly code?: unknown }).code !== "RUN_BUSY") reported(error, report);
  });
}

export function endpointOf({ endpoints }: Context, { planned }: RunState): Endpoint | null {
  const name = planned.tags?.[ENDPOINT];
  const endpoint = name === undefined ? undefined : endpoints.get(name);
  return endpoint?.pipeline.name === planned.plan.pipeline ? endpoint : null;
}
