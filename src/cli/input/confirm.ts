import { CliError } from "../cli-error.ts";
import type { Io } from "../io.ts";

export interface Question {
  /** The answer was given beforehand, with `--yes`. */
  readonly yes: boolean;
  /** Asked on a terminal; `[y/N]` is added. */
  readonly question: string;
  /** What would happen, where there is no terminal to confirm it on. */
  readonly what: string;
  /** What did not happen, after a no. */
  readonly refused: string;
  /** The command that agrees. */
  readonly next: string;
}

/** Returns only when a person agreed; throws {@link CliError} `NOT_CONFIRMED` otherwise. */
export async function confirm(io: Pick<Io, "ask">, { yes, question, what, refused, next }: Question): Promise<void> {
  if (yes || (await isAgreed(io, question))) return;
  const message = io.ask === null ? `${what}, and there is no terminal to confirm it on` : refused;
  throw new CliError("NOT_CONFIRMED", message, { next });
}

/** Whether a person on the terminal says yes; false where there is none. */
export async function isAgreed({ ask }: Pick<Io, "ask">, question: string): Promise<boolean> {
  return ask !== null && isYes(await ask(`${question} [y/N] `));
}

export function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim());
}
