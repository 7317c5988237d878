import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";

/**
 * In place of arguments, which come as JSON on stdin then: the arguments of a process are shown to every user of the
 * machine, and those of a run may hold a database's password or a prompt.
 */
export const ARGUMENTS_ON_STDIN = "@stdin";

/** What was typed, without the program's name. */
export function givenArguments(): readonly string[] {
  const typed = process.argv.slice(2);
  return typed[0] === ARGUMENTS_ON_STDIN ? (JSON.parse(readFileSync(0, "utf8")) as string[]) : typed;
}

/** Another process of this command line, which outlives the one that started it. */
export interface Background {
  readonly pid: number | undefined;
  /** Settles with its exit code when it ends while this process is still there; null after a signal. */
  readonly ended: Promise<number | null>;
}

/** Starts this very command line with other arguments, away from the terminal; what it says is added to the log file. */
export function startInBackground(args: readonly string[], logFile: string): Background {
  mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 });
  const log = openSync(logFile, "a", 0o600);
  try {
    const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", ARGUMENTS_ON_STDIN], {
      detached: true,
      stdio: ["pipe", log, log],
      windowsHide: true,
    });
    // Where the process could not be started, its end says so.
    child.stdin?.on("error", () => {});
    child.stdin?.end(JSON.stringify(args));
    child.unref();
    const ended = new Promise<number | null>((resolve) => {
      child.on("error", () => resolve(1));
      child.on("exit", (code) => resolve(code));
    });
    return { pid: child.pid, ended };
  } finally {
    closeSync(log);
  }
}
