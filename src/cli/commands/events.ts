import { eventText } from "../../core/view/index.ts";
import type { StoredEvent } from "../../index.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, withJournal } from "../context.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";

export async function events(context: Context, runId: string, flags: Flags["events"]): Promise<ExitCode> {
  const { io, output } = context;
  return withJournal(flags, async (show) => {
    const stored = show.events(runId, { follow: flags.follow === true, signal: io.interrupt });
    if (flags.json && !flags.follow) {
      const all: StoredEvent[] = [];
      for await (const event of stored) all.push(event);
      output.printJson(all);
      return ExitCode.done;
    }
    for await (const event of stored) {
      if (flags.json) output.printJsonLine(event);
      else output.tell(line(event));
    }
    return io.interrupt.aborted ? ExitCode.interrupted : ExitCode.done;
  });
}

function line({ seq, at, event }: StoredEvent): string {
  const time = new Date(at).toISOString().slice(11, 23);
  const parts = ["step" in event ? event.step : null, eventText(event)].filter((part) => part !== null);
  return `${String(seq).padStart(5)}  ${time}  ${event.type.padEnd(22)}  ${visible(parts.join(": "))}`.trimEnd();
}
