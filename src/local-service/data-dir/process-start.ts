import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Field of `/proc/<pid>/stat`, counted after the command's closing bracket, that holds the start time. */
const START_FIELD_AFTER_COMMAND = 19;

function fromProc(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[START_FIELD_AFTER_COMMAND] ?? null;
  } catch {
    return null;
  }
}

function fromPs(pid: number): string | null {
  try {
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || null;
  } catch {
    return null;
  }
}

/** When a process started, as an opaque text; null when there is none, or the system does not tell. */
export function processStart(pid: number): string | null {
  return process.platform === "linux" ? fromProc(pid) : fromPs(pid);
}

/** Whether the very process that noted `start` still lives: a recycled pid does not count. */
export function isAlive(pid: number, start: string | null): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  return start === null || processStart(pid) === start;
}
