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
  /** The agreed maximum in US dollars. Null for the local service. */
  readonly budget: string | null;
  readonly quote?: string | null;
  readonly startAnyway: boolean;
  /** Whether `runId` is the first of several runs, one per row of a file. */
  readonly isOneOfMany?: true;
}

const POLL_EVERY_MS = 100;
const LAST_LINES = 15;

export async function detach(context: Context, detached: Detached, flags: Flags["run"]): Promise<ExitCode> {
  const { io, output } = context;
  const { runId } = detached;
  if (io.background === null)
    throw usageError("cannot start a background process on this system", "run without --detach");
  const log = join(journalFolderOf(io, flags), "logs", `${runId}.log`);
  const { openJournal } = await import("../../internal.ts");
  const store = await openJournal(journalOf(io, flags));
  let child: Background;
  let end: "begun" | number | null;
  try {
    if ((await store.run(runId)) !== null) {
      const next = `showrunner resume ${visible(runId)}   (or choose another --id)`;
      throw usageError(`Run ${visible(runId)} already exists`, next);
    }
    child = io.background(argumentsOf(context, detached), log);
    end = await begun(store, runId, child.ended);
  } finally {
    await store.close();
  }
  if (end !== "begun") {
    const tail = (await readFile(log, "utf8").catch(() => "")).trimEnd().split("\n").slice(-LAST_LINES).join("\n");
    output.say(visibleLines(tail));
    throw new CliError(
      "USAGE",
      `The run did not start: its process ${end === null ? "was ended by a signal" : `ended with exit code ${end}`}`,
      {
        next: `run the command again without --detach, or read ${visible(log)}`,
        exitCode: end === ExitCode.refused ? ExitCode.refused : ExitCode.failed,
      },
    );
  }
  if (flags.json) output.printJson({ id: runId, pid: child.pid ?? null, log });
  else output.print(visible(runId));
  output.say(`Run ${visible(runId)} continues in process ${child.pid}, which writes to ${visible(log)}`);
  output.next(
    `showrunner events ${visible(runId)} --follow`,
    `showrunner stop ${visible(runId)}   (stops the run from submitting more jobs)`,
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

/** The typed arguments come last, because they take precedence. */
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
