import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CancelTaskRequestSchema,
  ErrorCode,
  GetTaskPayloadRequestSchema,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  McpError,
  type Task,
} from "@modelcontextprotocol/sdk/types.js";
import type { RunDocument } from "../../index.ts";
import { askAll, ofTask, type Person, personAt } from "./person.ts";
import type { AgentSession } from "./session.ts";
import { errorText, ToolError } from "./tool-error.ts";
import { agentDocument } from "./tools/runs.ts";
import { json } from "./tools/tool.ts";

const POLL_MS = 1_000;
const LONGEST_WAIT_MS = 10 * 60_000;

/**
 * Returns the task for a run. The task's id is the run's id, so clients can still find the task after the server
 * restarts.
 */
export async function taskOf(session: AgentSession, runId: string): Promise<Task> {
  const { status, pause, message } = await agentDocument(session, await session.report(runId));
  const { createdAt, updatedAt } = (await session.options.journal.run(runId))!;
  return {
    taskId: runId,
    status: statusOf(status, pause?.reason),
    ttl: null,
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
    pollInterval: POLL_MS,
    ...(message !== null && { statusMessage: message }),
  };
}

function statusOf(status: string, pause: string | undefined): Task["status"] {
  switch (status) {
    case "succeeded":
    case "partial":
      return "completed";
    case "failed":
      return "failed";
    case "cancelled":
      return "cancelled";
    case "paused":
      return pause === "stopped" ? "cancelled" : "input_required";
    case "interrupted":
      return "input_required";
    default:
      return "working";
  }
}

async function resultOf(
  session: AgentSession,
  runId: string,
  { signal, person }: { readonly signal: AbortSignal; readonly person: Person | null },
): Promise<RunDocument> {
  for (;;) {
    const report = await session.wait(runId, LONGEST_WAIT_MS, signal, () => {});
    const isOpen = person !== null && !signal.aborted && (await session.waiting(runId)).length > 0;
    if (!isOpen || report.status === "running") return report;
    try {
      await askAll(session, runId, person);
    } catch (error) {
      // If the user does not answer, the run keeps waiting.
      if (error instanceof ToolError) return session.report(runId);
      throw error;
    }
  }
}

export function addTasks(server: Server, session: AgentSession): void {
  const known = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw new McpError(ErrorCode.InvalidParams, errorText(error, session.options));
    }
  };
  server.setRequestHandler(GetTaskRequestSchema, ({ params }) => known(() => taskOf(session, params.taskId)));
  server.setRequestHandler(ListTasksRequestSchema, async () => {
    const rows = await session.runs();
    return { tasks: await Promise.all(rows.map(({ runId }) => taskOf(session, runId))) };
  });
  server.setRequestHandler(GetTaskPayloadRequestSchema, ({ params }, { signal, requestId }) =>
    known(async () => {
      const person = personAt(server, { isAllowed: session.options.mayAsk, signal, requestId, taskId: params.taskId });
      const report = await resultOf(session, params.taskId, { signal, person });
      const _meta = ofTask(params.taskId);
      return { ...json(await agentDocument(session, report)), isError: report.status === "failed", _meta };
    }),
  );
  server.setRequestHandler(CancelTaskRequestSchema, ({ params }) =>
    known(async () => {
      await session.state(params.taskId);
      await session.options.show.stop(params.taskId);
      const now = await taskOf(session, params.taskId);
      const statusMessage =
        "No more jobs will be submitted. Jobs already paid for will finish, and their results will be collected.";
      return now.status === "working" || now.status === "input_required"
        ? { ...now, status: "cancelled" as const, statusMessage }
        : now;
    }),
  );
}
