import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";

/** Makes a background process read its arguments from stdin, because every user can see a command line. */
export const ARGUMENTS_ON_STDIN = "@stdin";

export function givenArguments(): readonly string[] {
  const typed = process.argv.slice(2);
  return typed[0] === ARGUMENTS_ON_STDIN ? (JSON.parse(readFileSync(0, "utf8")) as string[]) : typed;
}

export interface Background {
  readonly pid: number | undefined;
  /** Exit code of the background process. Null if a signal ended it. */
  readonly ended: Promise<number | null>;
}

export function startInBackground(args: readonly string[], logFile: string): Background {
  mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 });
  const log = openSync(logFile, "a", 0o600);
  try {
    const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", ARGUMENTS_ON_STDIN], {
      detached: true,
      stdio: ["pipe", log, log],
      windowsHide: true,
    });
    // If the process cannot start, `ended` reports it.
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
