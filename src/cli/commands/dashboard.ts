import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { constants } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { openMedia } from "../../core/engine/index.ts";
import { open, writeDurably } from "../../core/kit/files.ts";
import { shellWord } from "../../core/kit/value-text.ts";
import { fetchForOperator } from "../../core/network/index.ts";
import { openJournal, openShowrunner, type Showrunner } from "../../index.ts";
import type { OfferedPipeline } from "../../studio/dashboard/index.ts";
import { usageError } from "../cli-error.ts";
import { type Context, journalFolderOf, journalOf, mediaOptionsOf, openOptions, sayWhere } from "../context.ts";
import type { CommandOutput } from "../io.ts";
import { isOwnFile, loadPipeline } from "../load/pipeline-file.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";

const LEAST_LENGTH = 32;

/** Returns the stored token. If there is no token that can be trusted, stores and returns a new token. */
export async function storedToken(path: string, { say }: Pick<CommandOutput, "say">): Promise<string> {
  const stored = await readKept(path);
  if (stored.token !== null) return stored.token;
  if (stored.fault !== null) say(`${path} ${stored.fault}, so a new token was created. The old one no longer works.`);
  return makeToken(path);
}

/**
 * Reads the stored token. `fault` is the reason why the file cannot be used. It is null if the file is usable or
 * missing.
 */
async function readKept(path: string) {
  try {
    // Do not follow links, because whoever created a link would choose the token.
    await using file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    const found = await file.stat();
    const { uid, mode } = found;
    if (!found.isFile()) return { token: null, fault: "is not a regular file" };
    const me = process.getuid?.();
    if (me !== undefined && uid !== me) return { token: null, fault: "belongs to another user" };
    if (me !== undefined && (mode & 0o077) !== 0)
      return { token: null, fault: "can be read or changed by other users" };
    const token = (await file.readFile("utf8")).trim();
    return token.length >= LEAST_LENGTH ? { token, fault: null } : { token: null, fault: "contains no token" };
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === "ENOENT";
    return { token: null, fault: isAbsent ? null : "cannot be read" };
  }
}

/** Stores a new token. Writes it to a temporary file and renames the file, so that symbolic links are not followed. */
async function makeToken(path: string): Promise<string> {
  const token = randomBytes(24).toString("base64url");
  const fresh = `${path}.new`;
  await rm(fresh, { force: true });
  await using file = await open(fresh, "wx", 0o600);
  await file.writeFile(`${token}\n`);
  await rename(fresh, path);
  return token;
}

const DEFAULT_PORT = 8788;

const ADDRESS_FILE = "dashboard-address";

async function addressIn(folder: string): Promise<string | null> {
  const text = await readFile(join(folder, ADDRESS_FILE), "utf8").catch(() => "");
  return /^http:\/\/[\w.:[\]-]+$/.test(text) ? text : null;
}

export async function dashboardOrigin(folder: string) {
  const origin = await addressIn(folder);
  const look = { method: "HEAD", signal: AbortSignal.timeout(1_000) };
  const answer = origin === null ? null : await fetchForOperator(origin, look).catch(() => null);
  return answer === null || origin === null
    ? { origin: `http://127.0.0.1:${DEFAULT_PORT}`, isRunning: false }
    : { origin, isRunning: true };
}

export async function dashboard(context: Context, files: readonly string[], flags: Flags["dashboard"]): Promise<void> {
  const { io, output } = context;
  const folder = journalFolderOf(io, flags);
  const pipelines = await offered(files, io.cwd);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const journal = await openJournal(journalOf(io, flags));
  const kept = mediaOptionsOf(io, flags);
  try {
    const open = () => openShowrunner({ ...openOptions(flags), ...kept, journal });
    let show = await open();
    // An embedded local service ends with the command that started it. This command then embeds its own.
    const reopen = async (lost: Showrunner) => {
      void lost.close().catch(() => {});
      show = await open();
      return show;
    };
    try {
      sayWhere(show, context);
      const media = await openMedia(kept);
      const token = await storedToken(join(folder, "dashboard-token"), output);
      const options = {
        show,
        reopen,
        journal,
        media,
        pipelines,
        pickedDir: join(folder, "picked"),
        token,
        launcher: io.launcher,
        ...(flags.viewers && { viewerToken: await storedToken(join(folder, "dashboard-viewer-token"), output) }),
        ...placeOf(flags),
        publicUrl: flags.publicUrl || io.env.SHOWRUNNER_PUBLIC_URL || undefined,
        loadPipeline: codeFrom(pipelines, context),
      };
      const served = await start(options, flags.port, output);
      await writeDurably(join(folder, ADDRESS_FILE), served.origin);
      // Reading `interrupt` installs the signal handlers. A caller may send a signal as soon as the address is printed.
      const { interrupt } = io;
      output.result({ url: served.url, origin: served.origin, viewer_url: served.viewerUrl }, served.url);
      output.say("Open this address in a browser. It contains a secret token: do not share it. Press Ctrl-C to stop.");
      if (options.publicUrl !== undefined) output.say(`Only review links are served at ${options.publicUrl}.`);
      if (served.viewerUrl !== null) output.say(`Read-only address to share: ${served.viewerUrl}`);
      if (!interrupt.aborted) await once(interrupt, "abort");
      output.say("Stopping. Runs driven by the dashboard will stop gracefully and can be resumed.");
      await served.close();
      if ((await addressIn(folder)) === served.origin) await rm(join(folder, ADDRESS_FILE), { force: true });
    } finally {
      await show.close();
    }
  } finally {
    await journal.close();
  }
}

type Options = Parameters<typeof import("../../studio/dashboard/index.ts").startDashboard>[0];

/** Starts the dashboard. If no port was given and the default port is in use, uses a free port. */
async function start(options: Options, given: number | undefined, output: CommandOutput) {
  const { PortInUseError, startDashboard } = await import("../../studio/dashboard/index.ts");
  try {
    return await startDashboard({ ...options, port: given ?? DEFAULT_PORT });
  } catch (error) {
    if (given !== undefined || !(error instanceof PortInUseError)) throw error;
    const served = await startDashboard({ ...options, port: 0 });
    output.say(
      `The default port ${DEFAULT_PORT} is in use, so the dashboard uses port ${new URL(served.origin).port}.`,
    );
    return served;
  }
}

async function offered(files: readonly string[], cwd: string): Promise<readonly OfferedPipeline[]> {
  const found: OfferedPipeline[] = [];
  for (const spec of files) {
    const { pipeline, file, exportName } = await loadPipeline(spec, cwd);
    const name = `${relative(cwd, file) || file}${exportName === "default" ? "" : `#${exportName}`}`;
    if (!found.some((one) => one.name === name)) found.push({ name, pipeline, source: { file, exportName } });
  }
  return found;
}

/**
 * Returns a function that loads pipelines, but only from files that the user named or that are in the working folder.
 */
function codeFrom(named: readonly OfferedPipeline[], { io, output }: Context): NonNullable<Options["loadPipeline"]> {
  const warned = new Set<string>();
  return async ({ file, exportName }) => {
    if (!named.some(({ source }) => source?.file === file) && !(await isOwnFile(file, io.cwd))) {
      const what = `${visible(file)} contains a run's code but is outside the current folder, so it was not loaded`;
      if (!warned.has(file))
        output.say(`${what}; if you trust it, load it with: showrunner dashboard ${visible(shellWord(file))}`);
      warned.add(file);
      return null;
    }
    return loadPipeline(`${file}#${exportName}`, "/").then(
      ({ pipeline }) => pipeline,
      () => null,
    );
  };
}

function placeOf({ host, allowHost = [] }: Flags["dashboard"]) {
  const wrong = allowHost.find((name) => !/^([\w.-]+|\[?[\da-f:.]+\]?)$/i.test(name));
  if (wrong === undefined) return { host, allowHosts: allowHost };
  throw usageError(
    `--allow-host ${visible(wrong)} is not a host name or address`,
    "give only the name, for example --allow-host studio.lan",
  );
}
