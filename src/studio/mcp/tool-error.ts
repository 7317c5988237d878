import { cleanText } from "../../core/kit/clean-text.ts";
import { own } from "../../core/kit/lookup.ts";
import { isShowrunnerError } from "../../index.ts";
import { refusalFor } from "../served/index.ts";

export class ToolError extends Error {
  readonly next: string;

  constructor(message: string, next: string) {
    super(message);
    this.name = "ToolError";
    this.next = next;
  }
}

interface Log {
  log(text: string): void;
}

const ASK = "ask the person who started this server";

const NEXT: Readonly<Record<string, string>> = {
  PLAN_PROBLEMS: "correct the input; `describe_pipeline` shows its schema, and `plan_pipeline` checks it for free",
  OVER_BUDGET: `generate less, or ${ASK} for a larger budget; agents cannot raise the budget`,
  WALLET_SHORT: `${ASK} to add funds`,
  QUOTE_REFUSED: "show a person what changed and the new price; once they agree, call `run_pipeline` with a new quote",
  RUN_UNKNOWN: "`list_runs` lists the runs",
  RUN_DIFFERS: "choose another name for the run",
  RUN_BUSY: "wait for the run with `wait_for_run`",
  ACCOUNT_MISMATCH: `${ASK} to continue the run, which belongs to another account`,
  NOT_FOUND: "check the id; `list_models` lists the models",
};

const MOST_CHARACTERS = 4_000;

/** Returns the text of an error for an agent. Logs the details that agents must not see. */
export function errorText(error: unknown, options: Log): string {
  const { message: text, next } = error instanceof ToolError ? error : agentError(error, options);
  return JSON.stringify({ error: cleanText(text, MOST_CHARACTERS), next });
}

export function reportTo({ log }: Log) {
  const report = (error: unknown, reference: string) => log(`${reference}: ${String(error)}`);
  return { audience: "agent", report } as const;
}

function agentError(error: unknown, options: Log): Pick<ToolError, "message" | "next"> {
  const { message, code } = refusalFor(error, reportTo(options));
  const next = own(NEXT, isShowrunnerError(error) ? error.code : code) ?? `tell ${ASK.slice(4)} if this persists`;
  return { message, next };
}
