import { resolve } from "node:path";
import { compareNow } from "../../local-service/recording/index.ts";
import { ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { wireForm } from "../service/present.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";
import { namedService } from "./record.ts";

export interface DriftFlags {
  readonly service?: string;
  readonly baseUrl?: string;
  readonly json?: boolean;
}

/** `showrunner drift`: where a service's catalog, schemas and estimates have moved since they were recorded. */
export async function drift({ io, output }: Context, folder: string, flags: DriftFlags): Promise<ExitCode> {
  const { baseUrl, apiKey } = namedService(flags, io.env, "ask");
  const compared = await compareNow({ folder: resolve(io.cwd, folder), baseUrl, apiKey });
  const { asked, notAsked, differences } = compared;
  if (flags.json) output.printJson(wireForm(compared));
  else {
    let shown = "";
    for (const { request, field, message } of differences) {
      if (request !== shown) output.print(visible(request));
      shown = request;
      output.print(`  ${field === null ? "" : `${visible(field)}: `}${visible(message)}`);
    }
  }
  const left = notAsked === 0 ? "" : `; ${counted(notAsked, "estimate")} not asked for again, with media or secrets`;
  output.say(`${counted(differences.length, "difference")} in ${counted(asked, "answer")}${left}.`);
  if (differences.length === 0) return ExitCode.done;
  output.next(`showrunner record ${folder}   (records what is answered now)`);
  return ExitCode.failed;
}
