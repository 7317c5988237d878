import { resolve } from "node:path";
import { type Context, mediaDirOf, type ServiceFlags, withShowrunner } from "../context.ts";
import { ExitCode } from "../exit-code.ts";
import { ownVersion } from "../own-version.ts";
import { visible } from "../text/escape.ts";

export interface ReportFlags extends ServiceFlags {
  readonly out?: string;
  readonly json?: boolean;
}

/** `showrunner report`: one HTML file that says what happened, with the media in it. */
export async function report(context: Context, runId: string, flags: ReportFlags): Promise<ExitCode> {
  const { io, talk } = context;
  const { writeReport } = await import("../../report/index.ts");
  return withShowrunner(flags, async (show) => {
    const written = await writeReport(show, runId, {
      file: flags.out === undefined ? undefined : resolve(io.cwd, flags.out),
      mediaDir: mediaDirOf(io, flags),
      writtenAt: Date.now(),
      version: ownVersion(),
    });
    const { file, sizeBytes, media } = written;
    if (flags.json) talk.printJson({ id: runId, file, size_bytes: sizeBytes, media });
    else talk.print(visible(file));
    if (media.beside > 0) talk.say(`${media.beside} large files lie beside the page: move them with it.`);
    if (media.missing > 0) talk.say(`${media.missing} files are no longer where the run put them.`);
    talk.say("Open it in a browser; it needs no network.");
    return ExitCode.done;
  });
}
