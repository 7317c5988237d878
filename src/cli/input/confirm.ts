import { CliError } from "../cli-error.ts";
import type { Io } from "../io.ts";

export interface Question {
  readonly yes: boolean;
  readonly question: string;
  readonly what: string;
  readonly refused: string;
  readonly next: string;
}

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
