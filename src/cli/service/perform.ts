import { ExitCode } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import { visible } from "../text/escape.ts";
import { listText, oneText, wireForm } from "./present.ts";
import type { CallFlags, CallSpec } from "./spec.ts";

/** Performs one call of the API and shows its answer; `given` are its arguments and flags. */
export async function performCall(spec: CallSpec, context: Context, given: readonly unknown[]): Promise<ExitCode> {
  const { io, output } = context;
  const args = given.slice(0, -1).map(String);
  const flags = given.at(-1) as CallFlags;
  const perform = await spec.load();
  return withShowrunner(flags, async (show) => {
    const answer = await perform({ client: show.client, args, flags, context, kind: show.service.kind });
    switch (answer.type) {
      case "list":
        if (flags.json) output.printJson(wireForm(answer.items));
        else if (answer.items.length > 0) output.print(listText(answer, io.stdout.columns));
        else output.say("none");
        return ExitCode.done;
      case "one":
        if (flags.json) output.printJson(wireForm(answer.value));
        else {
          const { value, rows } = answer;
          const whole = Object.entries(value).filter(([name]) => name !== rows?.of);
          output.print(oneText(Object.fromEntries(whole)));
          if (rows !== undefined) output.print(`\n${listText(rows, io.stdout.columns)}`);
        }
        return ExitCode.done;
      case "lines":
        for await (const { text, value } of answer.lines)
          output.print(flags.json ? JSON.stringify(wireForm(value)) : text);
        return ExitCode.done;
      case "done":
        if (flags.json) output.printJson({ ok: true });
        output.say(visible(answer.said));
        return ExitCode.done;
      default:
        return answer satisfies never;
    }
  });
}
