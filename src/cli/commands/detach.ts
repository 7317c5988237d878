import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { JournalStore } from "../../internal.ts";
import type { Background } from "../background.ts";
import { CliError, ExitCode, usageError } from "../cli-error.ts";
import { type Context, journalFolderOf, journalOf } from "../context.ts";
import type { Flags } from "../program/flags.ts";
import { visible, visibleLines } from "../text/escape.ts";

export interface Detached {
  readonly runId: string;
  /** Agreed to, a decimal of US dollars; null at the local service. */
  readonly budget: string | null;
  /** The quote that was agreed to; absent or null: none. */
  readonly quote?: string | null;
  readonly startAnyway: boolean;
  /** The first of the runs that rows of a file have, which name themselves. */
  readonly isOneOfMany?: true;
}

/** Milliseconds between two polls of the journal. */
const POLL_EVERY_MS = 100;
const LAST_LINES = 15;

/** Starts the run in a process of its own, waits until its journal has it, and says how to follow it. */
export async function detach(context: Context, detached: Detached, flags: Flags["run"]): Promise<ExitCode> {
  const { io, output } = context;
  const { runId } = detached;
  if (io.background === null) throw usageError("no process can be started here", "run without --detach");
  const log = join(journalFolderOf(io, flags), "logs", `${runId}.log`);
  const { openJournal } = await import("../../internal.ts");
  const store = await openJournal(journalOf(io, flags));
  let child: Background;
  let end: "begun" | number | null;
  try {
    if ((await store.run(runId)) !== null) {
      const next = `showrunner resume ${visible(runId)}   (or choose another --id)`;
      throw usageError(`Run ${visible(runId)} exists already`, next);
    }
    child = io.background(argumentsOf(context, detached), log);
    end = await begun(store, runId, child.ended);
  } finally {
    await store.close();
  }
  if (end !== "begun") {
    const tail = (await readFile(log, "utf8").catch(() => "")).trimEnd().split("\n").slice(-LAST_LINES).join("\n");
    output.say(visibleLines(tail));
    throw new CliError("USAGE", `The run did not start; its process ended with ${end ?? "a signal"}`, {
      next: `the same without --detach, or read ${visible(log)}`,
      exitCode: end === ExitCode.refused ? ExitCode.refused : ExitCode.failed,
    });
  }
  if (flags.json) output.printJson({ id: runId, pid: child.pid ?? null, log });
  else output.print(visible(runId));
  output.say(`Run ${visible(runId)} continues in process ${child.pid}; it writes to ${visible(log)}`);
  output.next(
    `showrunner events ${visible(runId)} --follow`,
    `showrunner stop ${visible(runId)}   (submits nothing more)`,
    "showrunner dashboard",
  );
  return ExitCode.done;
}

async function begun(
  store: JournalStore,
  runId: string,
  ended: Promise<number | null>,
): Promise<"begun" | number | null> {
  const over = ended.then((code) => ({ code }));
  for (;;) {
    if ((await store.run(runId)) !== null) return "begun";
    const end = await Promise.race([over, delay(POLL_EVERY_MS, null)]);
    // A short run may have finished before it was seen.
    if (end !== null) return (await store.run(runId)) !== null ? "begun" : end.code;
  }
}

/** What was typed, with what was agreed to since; what was typed counts where both say something. */
function argumentsOf(
  { args }: Context,
  { runId, budget, quote = null, startAnyway, isOneOfMany }: Detached,
): readonly string[] {
  const [command = "run", ...typed] = args.filter((word) => word !== "--detach" && word !== "--json");
  const agreed = [
    ...(budget === null ? [] : ["--budget", budget]),
    ...(quote === null ? [] : ["--quote", quote]),
    ...(startAnyway ? ["--start-anyway"] : []),
  ];
  return [command, ...(isOneOfMany ? [] : ["--id", runId]), ...agreed, ...typed];
}
