import { CliError } from "../cli-error.ts";
import { dollars } from "../text/money.ts";
import type { Call } from "./call.ts";

/** A paid call on a hosted service needs `--yes`, or a yes on the terminal. */
export async function agreeToPrice(
  { kind, flags, context }: Call,
  costMicros: number | null,
  again: string,
): Promise<void> {
  if (kind === "local" || flags.yes === true) return;
  const price = costMicros === null ? "an amount that cannot be quoted" : dollars(costMicros);
  if (context.io.ask === null) {
    throw new CliError("NOT_CONFIRMED", `This spends real money (${price}) and nobody can be asked`, { next: again });
  }
  const answer = await context.io.ask(`Spend ${price}? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new CliError("NOT_CONFIRMED", "Not sent; nothing was spent", { next: again });
}
