import { CliError } from "../cli-error.ts";
import type { Context } from "../context.ts";

export interface Question {
  /** The answer was given beforehand, with `--yes`. */
  readonly yes: boolean;
  /** Asked on a terminal; `[y/N]` is added. */
  readonly question: string;
  /** Said where there is no terminal to confirm it on. */
  readonly what: string;
  /** The command that agrees. */
  readonly next: string;
}

/** Returns only when a person agreed to spend real money; throws {@link CliError} otherwise. */
export async function confirm({ io }: Context, { yes, question, what, next }: Question): Promise<void> {
  if (yes) return;
  if (io.ask === null) {
    throw new CliError("NOT_CONFIRMED", `${what}: it spends real money, and there is no terminal to confirm it on`, {
      next,
    });
  }
  const answer = await io.ask(`${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) {
    throw new CliError("NOT_CONFIRMED", "Not started; nothing was spent", { next });
  }
}
