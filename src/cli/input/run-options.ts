import type { Quote, RunOptions, Showrunner } from "../../index.ts";
import { dollars } from "../../money.ts";
import { CliError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { repeatedCommand } from "../text/next-line.ts";
import { isAgreed } from "./confirm.ts";
import { checkAmount, giveUpAfter, tagsOf, waitForCap } from "./flag-values.ts";
import { quoteOptions, type RunFlags } from "./quote-options.ts";

/** What the flags say of a run. */
export function runOptions(
  flags: RunFlags,
  loaded: { readonly file: string; readonly exportName: string },
): RunOptions {
  checkAmount("--budget", flags.budget);
  checkAmount("--max-unquoted", flags.maxUnquoted);
  return {
    source: { file: loaded.file, exportName: loaded.exportName },
    ...quoteOptions(flags),
    ...giveUpAfter(flags.giveUpAfter),
    ...waitForCap(flags.waitForCap),
    tags: tagsOf(flags.tag),
    id: flags.id,
    onExisting: flags.onExisting,
    outDir: flags.out,
  };
}

/** Real money needs a cap or a yes: the price agreed to on the terminal becomes the budget. Null at the local service. */
export async function agreedPrice(
  show: Showrunner,
  quote: Pick<Quote, "totalMicros">,
  context: Context,
): Promise<string | null> {
  if (show.service.kind === "local") return null;
  const { io } = context;
  const most = quote.totalMicros.max ?? quote.totalMicros.min;
  const amount = dollars(most).slice(1);
  if (io.ask === null || quote.totalMicros.max === null) {
    throw new CliError("BUDGET_NEEDED", `This spends real money at ${show.service.baseUrl}: say how much at most`, {
      next: repeatedCommand(context, "--budget", amount),
    });
  }
  if (await isAgreed(io, `Start, spending at most $${amount}?`)) return amount;
  throw new CliError("NOT_CONFIRMED", "Not started; nothing was spent", {
    next: repeatedCommand(context, "--budget", amount),
  });
}
