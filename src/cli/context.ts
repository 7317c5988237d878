import { join, resolve } from "node:path";
import { folderOfJournal, isPostgresUrl } from "../core/kit/journal-location.ts";
import { suggest } from "../core/kit/lookup.ts";
import type { OpenOptions, Showrunner } from "../index.ts";
import { type CliError, usageError } from "./cli-error.ts";
import type { CommandOutput, Io } from "./io.ts";
import type { ServiceFlags } from "./program/flags.ts";
import { visible } from "./text/escape.ts";

export interface Context {
  readonly io: Io;
  readonly output: CommandOutput;
  readonly args: readonly string[];
}

export function familiesFileOf({ cwd, env }: Io, { families }: Pick<ServiceFlags, "families">): string | undefined {
  const named = families ?? env.SHOWRUNNER_FAMILIES;
  return named ? resolve(cwd, named) : undefined;
}

export function withJournal<T>(flags: ServiceFlags, work: (show: Showrunner) => Promise<T>): Promise<T> {
  return withShowrunner(flags, work, { journalOnly: true });
}

export function openOptions({ cap: caps, files: filesDir, ...flags }: ServiceFlags): OpenOptions {
  const { local, service, baseUrl, journal, media, notify, families, inside, turns } = flags;
  const { spendingCap, capTimeZone, walletFloor } = flags;
  const common = { local, service, baseUrl, journal, media, notify, families, inside, filesDir, turns };
  return { ...common, spendingCap, caps, capTimeZone, walletFloor };
}

export async function withShowrunner<T>(
  flags: ServiceFlags,
  work: (show: Showrunner) => Promise<T>,
  more: OpenOptions = {},
): Promise<T> {
  const { rateLimit } = flags;
  const options: OpenOptions = {
    ...openOptions(flags),
    ...more,
    ...(rateLimit !== undefined && {
      clientOptions: {
        ...more.clientOptions,
        pace: { limit: { requests: rateLimit.requests, perMs: rateLimit.windowMs } },
      },
    }),
  };
  const { openShowrunner } = await import("../index.ts");
  const show = await openShowrunner(options);
  try {
    return await work(show);
  } catch (error) {
    const isRefused = error instanceof Error && "code" in error && error.code === "UNAUTHORIZED";
    throw (isRefused ? show.service.missingKey : await unknownRun(show, error)) ?? error;
  } finally {
    await show.close();
  }
}

async function unknownRun(show: Showrunner, error: unknown): Promise<CliError | null> {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "RUN_UNKNOWN" || !("runId" in error))
    return null;
  const known = (await show.runs()).map(({ runId }) => runId);
  const suggestion = suggest(String(error.runId), known);
  if (suggestion.length === 0) return null;
  const message = `${error.message} Did you mean ${suggestion.map(visible).join(" or ")}?`;
  return usageError(message, "showrunner runs", error);
}

export function journalOf({ cwd, env }: Io, flags: ServiceFlags): string {
  const named = flags.journal ?? (env.SHOWRUNNER_JOURNAL || ".showrunner/journal.db");
  return isPostgresUrl(named) ? named : resolve(cwd, named);
}

export function journalFolderOf(io: Io, flags: ServiceFlags): string {
  return resolve(io.cwd, folderOfJournal(journalOf(io, flags)));
}

export function mediaOptionsOf(io: Io, flags: ServiceFlags) {
  return { media: flags.media, mediaDir: join(journalFolderOf(io, flags), "media"), env: io.env };
}

export function sayWhere(show: Showrunner, { output }: Context): void {
  if (show.service.kind === "hosted") {
    output.say(`Service: ${show.service.baseUrl}`);
    return;
  }
  const badge = output.paint(["bold", "yellow"], "LOCAL SERVICE");
  output.say(`${badge} ${show.service.baseUrl}: media is generated on this machine and paid for with play money.`);
}
