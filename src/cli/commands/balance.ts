import { toDocument } from "../../core/kit/document.ts";
import { dollars } from "../../core/kit/money.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, sayWhere, withShowrunner } from "../context.ts";
import type { ServiceFlags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";

export async function balance(context: Context, flags: ServiceFlags): Promise<ExitCode> {
  const { output } = context;
  return withShowrunner(flags, async (show) => {
    sayWhere(show, context);
    const [{ balanceMicros, currency }, journal] = await Promise.all([show.balance(), show.spending()]);
    if (flags.json) {
      output.printJson(toDocument({ balanceMicros, currency, journal }));
      return ExitCode.done;
    }
    output.print(`${dollars(balanceMicros)} ${currency}`);
    const { spentMicros, heldMicros, capMicros, floorMicros } = journal;
    const cap = capMicros === null ? "" : ` (cap: ${dollars(capMicros)})`;
    const floor = floorMicros === null ? "" : `; ${dollars(floorMicros)} must stay in the wallet`;
    output.say(`Runs in this journal: ${dollars(spentMicros)} spent, ${dollars(heldMicros)} reserved${cap}${floor}`);
    for (const one of journal.caps) {
      const whose = one.tag === null ? "All runs" : `Runs with ${visible(one.tag)}`;
      const until = one.endsAt === null ? "" : ` until ${new Date(one.endsAt).toISOString()}`;
      const so = `${dollars(one.spentMicros)} spent, ${dollars(one.heldMicros)} reserved (cap: ${dollars(one.capMicros)})`;
      output.say(`${whose}${until}: ${so}`);
    }
    for (const { tag, capMicros, per } of journal.capsPerValue) {
      output.say(
        `Runs with ${visible(tag)}: cap of ${dollars(capMicros)}${per === null ? "" : " a day"} for each value`,
      );
    }
    return ExitCode.done;
  });
}
