import { type Context, type ServiceFlags, sayWhere, withShowrunner } from "../context.ts";
import { ExitCode } from "../exit-code.ts";
import { dollars } from "../text/money.ts";

/** `showrunner balance`: what is in the wallet. */
export async function balance(context: Context, flags: ServiceFlags & { readonly json?: boolean }): Promise<ExitCode> {
  const { talk } = context;
  return withShowrunner(flags, async (show) => {
    sayWhere(show, context);
    const { balanceMicros, currency } = await show.balance();
    if (flags.json) talk.printJson({ balance: dollars(balanceMicros).replace("$", ""), currency });
    else talk.print(`${dollars(balanceMicros)} ${currency}`);
    return ExitCode.done;
  });
}
