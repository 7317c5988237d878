import { CliError } from "../cli-error.ts";
import type { Io } from "../io.ts";

export interface Question {
  /** Whether the user already agreed, by a flag such as `--yes`. */
  readonly yes: boolean;
  /** Question to ask on a terminal. `[y/N]` is added. */
  readonly question: string;
  /** What would happen. Used in the error message if there is no terminal. */
  readonly what: string;
  /** The error message if the user refuses. */
  readonly refused: string;
  /** The command that agrees without asking. */
  readonly next: string;
}

/** Throws {@link CliError} `NOT_CONFIRMED` unless a flag or a person agreed. */
export async function confirm(io: Pick<Io, "ask">, { yes, question, what, refused, next }: Question): Promise<void> {
  if (yes || (await isAgreed(io, question))) return;
  const message = io.ask === null ? `${what}, but there is no terminal to confirm it on` : refused;
  throw new CliError("NOT_CONFIRMED", message, { next });
}

export async function isAgreed({ ask }: Pick<Io, "ask">, question: string): Promise<boolean> {
  return ask !== null && isYes(await ask(`${question} [y/N] `));
}

export function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim());
}
