import type { FollowEvent } from "../../core/api/index.ts";
import { toDocument } from "../../core/kit/document.ts";
import type { ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { whileWorking } from "../live/redraw.ts";
import type { Flags } from "../program/flags.ts";
import { limitOf, printList, printOne, some, withClient } from "../service/present.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";

export function listJobs(context: Context, flags: Flags["jobs list"]): Promise<ExitCode> {
  return withClient(flags, {}, async (client) => {
    const all = flags.model === undefined ? client.jobs() : client.modelJobs(flags.model);
    const jobs = await some(all, limitOf(flags, 20));
    printList(context, flags, jobs, ["job_id", "model", "status", "cost", "created_at"]);
  });
}

export function getJob(context: Context, id: string, flags: Flags["jobs get"]): Promise<ExitCode> {
  return withClient(flags, {}, async (client) => printOne(context, flags, await client.job(id)));
}

export function followJob({ io, output }: Context, id: string, flags: Flags["jobs follow"]): Promise<ExitCode> {
  return withClient(flags, {}, async (client) => {
    for await (const event of client.follow(id, { signal: io.interrupt }))
      if (flags.json) output.printJsonLine(toDocument(event));
      else output.print(followText(event));
  });
}

function followText(event: FollowEvent): string {
  switch (event.type) {
    case "status": {
      const { status, progress } = event.status;
      return `${visible(status)}${progress === null ? "" : ` ${Math.round(progress * 100)}%`}`;
    }
    case "log":
      return `  ${visible(event.log.event)}: ${visible(event.log.message)}`;
    case "switched":
      return `  now following by ${event.to}: ${visible(event.reason)}`;
    case "finished":
      return `${event.outcome}: ${counted(event.job.outputs.length, "output")}; see: showrunner jobs get ${visible(event.job.jobId)}`;
    default:
      return event satisfies never;
  }
}

export function uploadFile(context: Context, path: string, flags: Flags["files upload"]): Promise<ExitCode> {
  return withClient(flags, {}, async (client) => {
    let progress = "reading";
    const onProgress = (sentBytes: number, totalBytes: number) => {
      progress = `uploaded ${megabytes(sentBytes)} of ${megabytes(totalBytes)} MB`;
    };
    printOne(context, flags, await whileWorking(context, client.upload({ path }, { onProgress }), () => progress));
  });
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
