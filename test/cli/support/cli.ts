import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startInBackground } from "../../../src/cli/host-process.ts";
import { runCli } from "../../../src/cli/program.ts";
import { compileCache } from "../../support/compile-cache.ts";
import { ownCommand } from "../../support/own-command.ts";
import { type FakeIoOptions, fakeIo } from "./fake-io.ts";

export const root = resolve(import.meta.dirname, "../../..");

/** The only variables of the test's environment that every command receives. */
const { PATH, HOME, TMPDIR } = process.env;
const surroundings = { PATH, HOME, TMPDIR, ...compileCache };

export interface Place {
  /** Working directory. Default: a new empty folder. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface ProcessOptions extends Place {
  readonly nodeFlags?: readonly string[];
  /** Path of the command. Default: {@link ownCommand}. */
  readonly command?: string;
  /** User id of the command. Default: the user of this process. */
  readonly uid?: number;
}

export interface CliEnd {
  /** Exit code; null if a signal ended the command. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts the command line in a separate process, for tests with kills, signals and other process features. */
export function startCli(
  args: readonly string[],
  options: ProcessOptions = {},
): { child: ChildProcess; end: Promise<CliEnd> } {
  const child = spawn(process.execPath, [...(options.nodeFlags ?? []), options.command ?? ownCommand, ...args], {
    cwd: options.cwd ?? emptyFolder(),
    env: { ...surroundings, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    ...(options.uid !== undefined && { uid: options.uid, gid: options.uid }),
  });
  const written = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    written.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    written.stderr += text;
  });
  const { promise, resolve: finish, reject } = Promise.withResolvers<CliEnd>();
  child.on("error", reject);
  child.on("close", (code) => finish({ code, ...written }));
  return { child, end: promise };
}

/** Runs a command in this process until its end. */
export async function cli(
  args: readonly string[],
  { cwd = emptyFolder(), env, ask, stdin, terminal }: Place & Pick<FakeIoOptions, "ask" | "stdin" | "terminal"> = {},
): Promise<CliEnd & { readonly bytes: Buffer }> {
  using _ = standingAt({ cwd, env: { ...surroundings, ...env } });
  const { io, stdout, stdoutBytes, stderr } = fakeIo({
    ...{ cwd, env: process.env },
    ...(ask && { ask }),
    ...(stdin !== undefined && { stdin }),
    ...(terminal && { terminal }),
  });
  const code = await runCli(args, { ...io, background: startInBackground });
  return { code, stdout: stdout(), stderr: stderr(), bytes: stdoutBytes() };
}

/** Starts a command in this process that runs until it is stopped. `printed` settles with its first output. */
export function beginCli(
  args: readonly string[],
  { cwd = emptyFolder(), env }: Place = {},
): { readonly printed: Promise<string>; stop(): Promise<CliEnd> } {
  const standing = standingAt({ cwd, env: { ...surroundings, ...env } });
  const { io, stdout, stderr, interrupt } = fakeIo({ cwd, env: process.env });
  const printed = Promise.withResolvers<string>();
  const write = (text: string) => {
    io.stdout.write(text);
    printed.resolve(text);
  };
  const end = runCli(args, { ...io, stdout: { write } }).finally(() => {
    standing[Symbol.dispose]();
    printed.reject(new Error(`it ended early: ${stderr()}`));
  });
  printed.promise.catch(() => {});
  return {
    printed: printed.promise,
    async stop() {
      interrupt();
      return { code: await end, stdout: stdout(), stderr: stderr() };
    },
  };
}

let standing: { readonly place: string; readonly leave: () => void; commands: number } | null = null;

/** Gives this process the folder, environment and program of its commands until the last command has ended. */
function standingAt({ cwd, env }: Required<Place>): Disposable {
  const place = JSON.stringify([cwd, env]);
  if (standing === null) {
    const before = { cwd: process.cwd(), env: process.env, argv: process.argv, execArgv: process.execArgv };
    process.chdir(cwd);
    process.env = { ...env };
    // What a command starts in the background is the command line too.
    process.argv = [process.execPath, ownCommand];
    process.execArgv = [];
    const leave = () => {
      process.chdir(before.cwd);
      const { env, argv, execArgv } = before;
      Object.assign(process, { env, argv, execArgv });
    };
    standing = { place, leave, commands: 0 };
  }
  const here = standing;
  if (here.place !== place) throw new Error("commands that run at once need the same folder and environment");
  here.commands++;
  return {
    [Symbol.dispose]() {
      if (--here.commands > 0) return;
      here.leave();
      standing = null;
    },
  };
}

export function emptyFolder(): string {
  return mkdtempSync(join(tmpdir(), "showrunner-cli-"));
}
