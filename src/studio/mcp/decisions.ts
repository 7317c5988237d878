import { cleanText } from "../../core/kit/clean-text.ts";
import type { WaitingDecision } from "../../core/view/index.ts";
import type { Decision } from "./options.ts";
import type { Person } from "./person.ts";
import type { AgentSession } from "./session.ts";

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
