import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { compileCache } from "../../support/compile-cache.ts";
import { ownCommand } from "../../support/own-command.ts";

export const root = resolve(import.meta.dirname, "../../..");

export interface CliOptions {
  /** Default: a new empty folder. */
  readonly cwd?: string;
  /** Added to PATH, HOME and the place of compiled code; nothing else of the test's environment reaches the command. */
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeFlags?: readonly string[];
  /** Default: {@link ownCommand}. */
  readonly command?: string;
  /** As whom the command runs; default as this process. */
  readonly uid?: number;
}

export interface CliEnd {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The real command line in a process of its own. */
export function startCli(
  args: readonly string[],
  options: CliOptions = {},
): { child: ChildProcess; end: Promise<CliEnd> } {
  const child = spawn(process.execPath, [...(options.nodeFlags ?? []), options.command ?? ownCommand, ...args], {
    cwd: options.cwd ?? emptyFolder(),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...compileCache, ...options.env },
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

/** Runs a command to its end. */
export function cli(args: readonly string[], options?: CliOptions): Promise<CliEnd> {
  return startCli(args, options).end;
}

export function emptyFolder(): string {
  return mkdtempSync(join(tmpdir(), "showrunner-cli-"));
}
