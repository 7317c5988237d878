import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { RunRow } from "../../core/view/index.ts";
import { CliError, ExitCode, usageError } from "../cli-error.ts";
import { type Context, journalFolderOf, withJournal } from "../context.ts";
import type { Flags } from "../program/flags.ts";
import { visible, visibleLines } from "../text/escape.ts";

export interface Detached {
  readonly runId: string;
  /** The unfinished run to continue. Absent for a new run. */
  readonly known?: RunRow;
  /** The agreed maximum in US dollars. Null for the local service. */
  readonly budget?: string | null;
  readonly quote?: string | null;
  readonly startAnyway?: boolean;
  /** Set if `runId` is the first of several runs, one per row of a file. */
  readonly isOneOfMany?: true;
}

const POLL_EVERY_MS = 100;
const LAST_LINES = 15;

export async function detach(context: Context, detached: Detached, flags: Flags["run"]): Promise<ExitCode> {
  const { io, output } = context;
  const { runId, known = null } = detached;
  const { background } = io;
  if (background === null) throw usageError("cannot start a background process on this system", "run without --detach");
  const log = join(journalFolderOf(io, flags), "logs", `${runId}.log`);
  // The log of a continued run already has lines of earlier processes.
  const { size: logged } = await stat(log).catch(() => ({ size: 0 }));
  const { child, end } = await withJournal(flags, async ({ journal }) => {
    if (known === null && (await journal.run(runId)) !== null) {
      const next = `showrunner resume ${visible(runId)}   (or choose another --id)`;
      throw usageError(`Run ${visible(runId)} already exists`, next);
    }
    const child = background(argumentsOf(context, detached, flags), log);
    return { child, end: await begun(async () => isBegun(await journal.run(runId), known), child.ended) };
  });
  if (end !== "begun") {
    const text = (await readFile(log).catch(() => Buffer.alloc(0))).toString("utf8", logged);
    // Shows only the error, because the plan before it has been shown already.
    const error = text.slice(text.lastIndexOf("\nerror ") + 1).trimEnd();
    output.say(visibleLines(error.split("\n").slice(-LAST_LINES).join("\n")));
    const how = end === null ? "was ended by a signal" : `ended with exit code ${end}`;
    throw new CliError("USAGE", `The run did not ${known === null ? "start" : "continue"}: its process ${how}`, {
      next: `run the command again without --detach, or read ${visible(log)}`,
      exitCode: end === ExitCode.refused || end === ExitCode.unfinished ? end : ExitCode.failed,
    });
  }
  output.result({ id: runId, pid: child.pid ?? null, log }, visible(runId));
  output.say(`Run ${visible(runId)} continues in process ${child.pid}, which writes to ${visible(log)}`);
  output.next(
    `showrunner events ${visible(runId)} --follow`,
    `showrunner stop ${visible(runId)}   (stops the run from submitting more jobs)`,
    "showrunner dashboard",
  );
  return ExitCode.done;
}

async function begun(
  hasBegun: () => Promise<boolean>,
  ended: Promise<number | null>,
): Promise<"begun" | number | null> {
  const over = ended.then((code) => ({ code }));
  for (;;) {
    if (await hasBegun()) return "begun";
    const end = await Promise.race([over, delay(POLL_EVERY_MS, null)]);
    // A short run may have finished before it was seen.
    if (end !== null) return (await hasBegun()) ? "begun" : end.code;
  }
}

function isBegun(row: RunRow | null, known: RunRow | null): boolean {
  if (row === null || known === null) return row !== null;
  const isTaken = row.lease !== null && !isDeepStrictEqual(row.lease.holder, known.lease?.holder);
  return isTaken || row.lastSeq > known.lastSeq;
}

/** Returns the arguments as the user typed them, plus values that the user confirmed or that were generated. */
function argumentsOf(
  { args }: Context,
  { runId, budget = null, quote = null, startAnyway, isOneOfMany }: Detached,
  flags: Flags["run"],
): readonly string[] {
  const [command = "run", ...typed] = args.filter((word) => word !== "--detach" && word !== "--json");
  const isNamed = isOneOfMany || flags.id !== undefined;
  return [
    command,
    ...(isNamed ? [] : ["--id", runId]),
    ...(budget === null || flags.budget !== undefined ? [] : ["--budget", budget]),
    ...(quote === null || flags.quote !== undefined ? [] : ["--quote", quote]),
    ...(startAnyway && !flags.startAnyway ? ["--start-anyway"] : []),
    ...typed,
  ];
}
