import { join } from "node:path";
import { ownVersion } from "../../core/kit/own-version.ts";
import { ExitCode, usageError } from "../cli-error.ts";
import { type Context, mediaOptionsOf, withJournal } from "../context.ts";
import { isOwnFile } from "../input/stored-run.ts";
import { writtenFile } from "../input/written-file.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";

export async function report(context: Context, runId: string, flags: Flags["report"]): Promise<ExitCode> {
  const { io, output } = context;
  const isForClient = flags.for === "client";
  if (flags.prices && !isForClient) {
    throw usageError("--prices only works with --for client", "omit --prices: the full report already shows all costs");
  }
  const { writeReport } = await import("../../studio/dashboard/index.ts");
  return withJournal(flags, async (show) => {
    const written = await writeReport(show, runId, {
      file:
        flags.out === undefined
          ? await defaultFile((await show.show(runId)).out_dir, runId, io.cwd, isForClient)
          : await writtenFile(io.cwd, { flag: "--out", path: flags.out, kind: "html" }),
      ...(isForClient && { forClient: { hasPrice: flags.prices === true } }),
      ...mediaOptionsOf(io, flags),
      writtenAt: Date.now(),
      version: ownVersion(),
    });
    const { file, sizeBytes, media } = written;
    if (flags.json) output.printJson({ id: runId, file, size_bytes: sizeBytes, media });
    else output.print(visible(file));
    const { beside, missing } = media;
    if (beside > 0) {
      const [are, them] = beside === 1 ? ["is", "it"] : ["are", "them"];
      output.say(
        `${counted(beside, "large file")} ${are} stored next to the page; if you move the page, move ${them} too.`,
      );
    }
    if (missing > 0) {
      output.say(`${counted(missing, "file")} ${missing === 1 ? "is" : "are"} no longer in the media store.`);
    }
    output.say("Open it in a browser; it works offline.");
    return ExitCode.done;
  });
}

async function defaultFile(outDir: string, runId: string, cwd: string, isForClient: boolean): Promise<string> {
  const stem = isForClient ? "client-report" : "report";
  if (await isOwnFile(outDir, cwd)) return join(outDir, `${stem}.html`);
  return join(cwd, `${stem}-${runId.replace(/[^\w.-]/g, "_")}.html`);
}
