import { dollars } from "../../money.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, type ServiceFlags, sayWhere, withShowrunner } from "../context.ts";
import { wireForm } from "../service/present.ts";

/** `showrunner balance`: what is in the wallet, and what the runs of the journal spent of it and hold. */
export async function balance(context: Context, flags: ServiceFlags): Promise<ExitCode> {
  const { output } = context;
  return withShowrunner(flags, async (show) => {
    sayWhere(show, context);
    const [{ balanceMicros, currency }, journal] = await Promise.all([show.balance(), show.spending()]);
    if (flags.json) {
      output.printJson(wireForm({ balance: dollars(balanceMicros).replace("$", ""), currency, journal }));
      return ExitCode.done;
    }
    output.print(`${dollars(balanceMicros)} ${currency}`);
    const { spentMicros, heldMicros, capMicros, floorMicros } = journal;
    const cap = capMicros === null ? "" : ` of a cap of ${dollars(capMicros)}`;
    const floor = floorMicros === null ? "" : `; ${dollars(floorMicros)} must stay in the wallet`;
    output.say(`Runs of this journal: ${dollars(spentMicros)} spent, ${dollars(heldMicros)} reserved${cap}${floor}`);
    return ExitCode.done;
  });
}
