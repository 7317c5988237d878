import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";

/** Another process of this command line, which outlives the one that started it. */
export interface Background {
  readonly pid: number | undefined;
  /** Settles with its exit code when it ends while this process is still there; null after a signal. */
  readonly ended: Promise<number | null>;
}

/** Starts this very command line with other arguments, away from the terminal; what it says is added to the log file. */
export function startInBackground(args: readonly string[], logFile: string): Background {
  mkdirSync(dirname(logFile), { recursive: true });
  const log = openSync(logFile, "a", 0o600);
  try {
    const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", ...args], {
      detached: true,
      stdio: ["ignore", log, log],
      windowsHide: true,
    });
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
