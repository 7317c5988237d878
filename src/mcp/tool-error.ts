import { cleanText } from "../clean-text.ts";
import { isShowrunnerError } from "../internal.ts";
import { own } from "../own.ts";

/** What an agent reads of a call that failed: what was wrong, and what to do. */
export class ToolError extends Error {
  readonly next: string;

  constructor(message: string, next: string) {
    super(message);
    this.name = "ToolError";
    this.next = next;
  }
}

const ASK = "ask the person who started this server";

/** What helps with errors of the library. */
const NEXT: Readonly<Record<string, string>> = {
  PLAN_PROBLEMS: "correct the input; `describe_pipeline` shows its schema, and `plan_pipeline` checks for free",
  OVER_BUDGET: `ask for less, or ${ASK} for a larger budget; it cannot be raised from here`,
  WALLET_SHORT: `${ASK} to add funds`,
  QUOTE_REFUSED:
    "show a person what changed and the new price; once they agree, call `run_pipeline` with the new quote",
  RUN_UNKNOWN: "`list_runs` names the runs",
  RUN_DIFFERS: "choose another name for the run",
  RUN_BUSY: "another process drives the run: wait for it with `wait_for_run`",
  ACCOUNT_MISMATCH: `${ASK}: the run belongs to another account`,
  NOT_FOUND: "check the id; `list_models` names the models",
};

const MOST_CHARACTERS = 4_000;

/** Any thrown value as JSON for an agent, without secrets and of bounded length: `next` is ours, whatever `error` quotes of others. */
export function errorText(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const code = isShowrunnerError(error) ? error.code : "";
  const next = error instanceof ToolError ? error.next : (own(NEXT, code) ?? `tell ${ASK.slice(4)} if this persists`);
  return JSON.stringify({ error: cleanText(message, MOST_CHARACTERS), next });
}
