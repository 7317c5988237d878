import { once } from "node:events";
import { resolve } from "node:path";
import { chooseService, type HostedService } from "../../core/kit/deployments.ts";
import { startRecorder } from "../../local-service/recording/index.ts";
import { ExitCode, usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { PORTS, wholeNumber } from "../input/flag-values.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";

export async function record({ io, output }: Context, folder: string, flags: Flags["record"]): Promise<ExitCode> {
  const { interrupt } = io;
  const recorder = await startRecorder({
    folder: resolve(io.cwd, folder),
    baseUrl: namedService(flags, io.env).baseUrl,
    port: wholeNumber("--port", flags.port, PORTS, 8790),
    keepMedia: flags.keepMedia === true,
    say: (text) => output.say(visible(text)),
  });
  output.print(`export SHOWRUNNER_BASE_URL=${recorder.baseUrl}`);
  output.say(`Recording responses to ${visible(folder)}. Jobs cost real money. Press Ctrl-C to stop.`);
  if (!interrupt.aborted) await once(interrupt, "abort");
  await recorder.close();
  output.say(`Recorded ${counted(recorder.lines, "new response")} in ${visible(folder)}.`);
  output.next(`showrunner serve --replay ${folder}`);
  return ExitCode.done;
}

function namedService(flags: Pick<Flags["record"], "service" | "baseUrl">, env: Context["io"]["env"]): HostedService {
  const chosen = chooseService(flags, env);
  if (chosen === null) {
    throw usageError("record needs a hosted service", "set one with --base-url or --service");
  }
  if (!("problem" in chosen)) return chosen;
  throw usageError(`${chosen.setting} ${chosen.problem}`, "set one with --base-url or --service");
}
