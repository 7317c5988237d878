import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  type ElicitRequestFormParams,
  ErrorCode,
  McpError,
  RELATED_TASK_META_KEY,
} from "@modelcontextprotocol/sdk/types.js";
import { cleanText } from "../../core/kit/clean-text.ts";
import { CallerError } from "../../core/kit/errors.ts";
import type { WaitingDecision } from "../../core/view/index.ts";
import type { AgentSession, Decision } from "./session.ts";
import { ToolError } from "./tool-error.ts";

/** The person who uses the agent. Questions are shown by the agent's client, so the model cannot answer them. */
export interface Person {
  /**
   * Asks the person to fill in the fields, and returns the answers by field name.
   * @throws ToolError if the person declines or does not answer
   */
  ask(message: string, fields: Fields): Promise<Readonly<Record<string, unknown>>>;
}

type Fields = ElicitRequestFormParams["requestedSchema"]["properties"];

const TIMEOUT_MS = 10 * 60_000;
const LONGEST_MESSAGE = 2_000;

export function ofTask(taskId: string) {
  return { [RELATED_TASK_META_KEY]: { taskId } };
}

export function personAt(
  server: Server,
  how: {
    readonly isAllowed: boolean;
    readonly signal: AbortSignal;
    readonly requestId: string | number;
    readonly taskId?: string;
  },
): Person | null {
  if (!how.isAllowed || server.getClientCapabilities()?.elicitation?.form === undefined) return null;
  return {
    async ask(message, properties) {
      if (cleanText(message, LONGEST_MESSAGE) !== message)
        throw new ToolError(
          `The person could not see the whole question: it is longer than ${LONGEST_MESSAGE} characters, or contains URL queries or control characters`,
          "propose something shorter in plain text, or let the person decide in the terminal or the dashboard",
        );
      const requestedSchema = { type: "object" as const, properties, required: Object.keys(properties).slice(0, 1) };
      const asked = server.elicitInput(
        { mode: "form", message, requestedSchema, ...(how.taskId !== undefined && { _meta: ofTask(how.taskId) }) },
        { signal: how.signal, timeout: TIMEOUT_MS, relatedRequestId: how.requestId },
      );
      const answer = await asked.catch((error: unknown) => {
        const code = error instanceof McpError ? error.code : null;
        throw code === ErrorCode.RequestTimeout
          ? notAnswered()
          : code === ErrorCode.InvalidParams
            ? new CallerError("The person's answer does not match the question's schema")
            : error;
      });
      if (answer.action === "accept" && answer.content !== undefined) return answer.content;
      throw new ToolError(
        "The person was asked and declined",
        "do not ask for the same thing again; ask the person what they want instead",
      );
    },
  };
}

function notAnswered(): ToolError {
  return new ToolError(
    `The user was asked but did not answer within ${TIMEOUT_MS / 60_000} minutes`,
    "tell the user what is waiting, and ask again once they are available; they can also decide in the terminal or the dashboard",
  );
}

const LONGEST_QUESTION = 500;

export async function askedOf(
  person: Person,
  { runId, step, message: question, takes }: WaitingDecision,
  proposed: Decision | null,
): Promise<Decision> {
  const about = question === null ? "" : `: ${cleanText(question, LONGEST_QUESTION)}`;
  const message = `Run ${runId} needs your decision on ${step}${proposed === null ? about : `. ${proposalOf(proposed)}`}`;
  const pick = proposed?.pick;
  const said = await person.ask(message, {
    decision: { type: "string", title: "Decision", enum: ["approve", "reject"] },
    ...(takes !== null && {
      pick: {
        ...{ type: "integer", title: "Number of your choice", minimum: 1, maximum: takes },
        ...(pick !== undefined && pick <= takes && { default: pick }),
      },
    }),
    note: { type: "string", title: "Note", maxLength: 500 },
  });
  return {
    decision: said["decision"] === "approve" ? "approve" : "reject",
    pick: typeof said["pick"] === "number" ? said["pick"] : pick,
    note: typeof said["note"] === "string" && said["note"] !== "" ? said["note"] : undefined,
    value: proposed?.value,
  };
}

function proposalOf({ decision, pick, value }: Decision): string {
  const choice = pick === undefined ? "" : `, number ${pick}`;
  const changed = value === undefined ? "" : `, changing the displayed value to: ${JSON.stringify(value)}`;
  return `The agent proposes: ${decision}${choice}${changed}`;
}

export async function askAll(session: AgentSession, runId: string, person: Person): Promise<void> {
  for (const open of await session.waiting(runId)) {
    await session.refuseBeyondLimits(runId);
    await session.decide(open, await askedOf(person, open, null));
  }
}
