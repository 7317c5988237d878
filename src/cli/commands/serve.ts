import { once } from "node:events";
import { resolve } from "node:path";
import type { LocalServiceOptions } from "showrunner-local";
import { chooseService, type HostedService } from "../../core/kit/deployments.ts";
import { loadLocalService } from "../../core/kit/load-local-service.ts";
import { usageError } from "../cli-error.ts";
import { type Context, familiesFileOf } from "../context.ts";
import { readNamed } from "../input/named-file.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";

export async function serve(context: Context, flags: Flags["serve"]): Promise<void> {
  const { io, output } = context;
  const key = await readKey(context, flags);
  const families = familiesFileOf(io, flags);
  const options = { ...serviceOptions(flags, io.cwd, key), ...(families !== undefined && { families }) };
  const { startLocalService } = await loadLocalService();
  const service = await startLocalService(options);
  // Reading `interrupt` installs the signal handlers. A caller may send a signal as soon as the address is printed.
  const { interrupt } = io;
  const { baseUrl, apiKey } = service;
  const text = `export SHOWRUNNER_BASE_URL=${baseUrl}\nexport SHOWRUNNER_API_KEY=${apiKey}`;
  output.result({ base_url: baseUrl, api_key: apiKey }, text);
  output.say(
    `Local service running at ${baseUrl}; its data is in ${visible(flags.data)}. Play money only. Press Ctrl-C to stop.`,
  );
  const { disabled_models: disabled, unread_tables: unread } = service.stats();
  for (const text of [...disabled, ...unread]) output.say(`Warning: ${visible(text)}`);
  if (!interrupt.aborted) await once(interrupt, "abort");
  output.say("Stopping; accepted jobs continue when the service next starts.");
  await service.close();
}

async function readKey({ io, output }: Context, { key, keyFile }: Flags["serve"]): Promise<string | undefined> {
  if (keyFile !== undefined) return fromFile(resolve(io.cwd, keyFile));
  if (key === undefined) return io.env.SHOWRUNNER_SERVE_KEY?.trim() || undefined;
  output.say(
    "Every process on this machine can see a secret on the command line: use --key-file or SHOWRUNNER_SERVE_KEY instead.",
  );
  return key;
}

async function fromFile(path: string): Promise<string> {
  try {
    return (await readNamed(path, 2 ** 16)).toString().trim();
  } catch (cause) {
    throw usageError(
      `--key-file ${visible(path)} cannot be read`,
      "use a readable file that contains only the secret",
      cause,
    );
  }
}

function serviceOptions(flags: Flags["serve"], cwd: string, key: string | undefined): LocalServiceOptions {
  return {
    port: flags.port,
    host: flags.host,
    dataDir: resolve(cwd, flags.data),
    balance: Number(flags.balance),
    ...(key !== undefined && { keys: [credential(key)] }),
    ...(flags.rateLimit !== undefined && { rateLimit: flags.rateLimit }),
    ...(flags.maxRunning !== undefined && { maxRunning: flags.maxRunning }),
    ...(flags.speed !== undefined && { speed: flags.speed }),
    ...(flags.retention !== undefined && { retentionMs: flags.retention }),
    ...(flags.urlLife !== undefined && { urlLifeMs: flags.urlLife }),
    ...(flags.brand !== undefined && { brand: flags.brand }),
    ...(flags.catalog !== undefined && { catalog: resolve(cwd, flags.catalog) }),
    ...(flags.unquotableCost !== undefined && { unquotableCost: flags.unquotableCost }),
    ...(flags.deliverToLoopback && { deliverToLoopback: true }),
    ...(flags.strict && { strict: true }),
    ...(flags.asOf !== undefined && { asOf: flags.asOf }),
    ...(flags.openCatalog && { openCatalog: true }),
    ...(flags.faults !== undefined && { faults: resolve(cwd, flags.faults) }),
    ...(flags.replay !== undefined && {
      replay: {
        folder: resolve(cwd, flags.replay),
        orLocal: flags.orLocal === true,
        ...(flags.replaySpeed !== undefined && { speed: flags.replaySpeed }),
      },
    }),
    ...(flags.stub && { renderer: "stub" as const }),
  };
}

function credential(text: string): string {
  if (/^[\x21-\x39\x3b-\x7e]+:[\x21-\x7e]+$/.test(text)) return text;
  throw usageError(
    "the key from --key-file, SHOWRUNNER_SERVE_KEY or --key does not have the form ID:SECRET",
    "write it as my-key:my-secret",
  );
}

export async function record({ io, output }: Context, folder: string, flags: Flags["record"]): Promise<void> {
  const { startRecorder } = await import("../../local-service/recording/index.ts");
  const { interrupt } = io;
  const recorder = await startRecorder({
    folder: resolve(io.cwd, folder),
    baseUrl: namedService(flags, io.env).baseUrl,
    port: flags.port,
    keepMedia: flags.keepMedia === true,
    say: (text) => output.say(visible(text)),
  });
  output.print(`export SHOWRUNNER_BASE_URL=${recorder.baseUrl}`);
  output.say(`Recording responses to ${visible(folder)}. Jobs cost real money. Press Ctrl-C to stop.`);
  if (!interrupt.aborted) await once(interrupt, "abort");
  await recorder.close();
  output.say(`Recorded ${counted(recorder.lines, "new response")} in ${visible(folder)}.`);
  output.next(`showrunner serve --replay ${folder}`);
}

function namedService(flags: Pick<Flags["record"], "service" | "baseUrl">, env: Context["io"]["env"]): HostedService {
  const chosen = chooseService(flags, env);
  if (chosen !== null && !("problem" in chosen)) return chosen;
  const problem = chosen === null ? "record needs a hosted service" : `${chosen.setting} ${chosen.problem}`;
  throw usageError(problem, "set one with --base-url or --service");
}
