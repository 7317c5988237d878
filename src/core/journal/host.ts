import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname, platform } from "node:os";
import { HOUR_MS, MINUTE_MS } from "../kit/duration.ts";
import { ownVersion } from "../kit/own-version.ts";
import { isRunFinal } from "./state.ts";
import type { LeaseHolder, RunRow } from "./store.ts";

export function thisHolder(instance: string): LeaseHolder {
  return {
    host: hostname(),
    bootId: bootId(),
    pid: process.pid,
    processStart: ownProcessStart(),
    instance,
    program: ownVersion(),
  };
}

const retired = new Set<string>();

/** Marks a lease holder in this process as dead. Call this if an engine ends without releasing its leases. */
export function retireHolder({ instance }: LeaseHolder): void {
  retired.add(instance);
}

/**
 * Returns true if the holder's process has ended, or if its lease lasts so long that the clock of its machine must be
 * wrong.
 */
export function isHolderDead(holder: LeaseHolder, leftMs = 0): boolean {
  return isGone(holder, processStart) || isClockWrong(holder, leftMs);
}

export const LONGEST_LEASE_MS = HOUR_MS;
const MOST_SKEW_MS = MINUTE_MS;

function isClockWrong({ host }: LeaseHolder, leftMs: number): boolean {
  return host !== hostname() && leftMs > LONGEST_LEASE_MS + MOST_SKEW_MS;
}

/** Like {@link isHolderDead}, but spawns no system tool, so it can be called often. */
export function isHolderGone(holder: LeaseHolder, leftMs = 0): boolean {
  const startOf = (pid: number) => (platform() === "linux" ? processStart(pid) : processExists(pid) ? "" : null);
  return isGone(holder, startOf) || isClockWrong(holder, leftMs);
}

export function processMark(): string {
  const [boot, pids] = splitBootId(bootId()).map(shortHash);
  return [shortHash(hostname()), boot, pids, process.pid, shortHash(ownProcessStart())].join("-");
}

export function isMarkGone(mark: string): boolean {
  const [host, boot, pids, pid, start] = mark.split("-");
  const [ownHost, ownBoot, ownPids] = processMark().split("-");
  if (host !== ownHost) return false;
  if (boot !== ownBoot) return true;
  if (pids !== ownPids) return false;
  const found = platform() === "linux" ? processStart(Number(pid)) : processExists(Number(pid)) ? "" : null;
  return found === null || (found !== "" && shortHash(found) !== start);
}

function shortHash(text: string): string {
  return hash("sha256", text).slice(0, 6);
}

type StartOf = (pid: number) => string | null;

function isGone(holder: LeaseHolder, startOf: StartOf): boolean {
  if (holder.host !== hostname()) return false;
  const [boot, pids] = splitBootId(holder.bootId);
  const [ownBoot, ownPids] = splitBootId(bootId());
  if (boot !== "" && ownBoot !== "" && boot !== ownBoot) return true;
  // Another container on this kernel has its own process ids.
  if (pids !== ownPids) return false;
  return processGone(holder, startOf) || (holder.pid === process.pid && retired.has(holder.instance));
}

function processGone(holder: LeaseHolder, startOf: StartOf): boolean {
  const start = startOf(holder.pid);
  if (start === null) return true;
  return start !== "" && holder.processStart !== "" && start !== holder.processStart;
}

let cachedProcessStart: string | undefined;

function ownProcessStart(): string {
  cachedProcessStart ??= processStart(process.pid) ?? "";
  return cachedProcessStart;
}

let cachedBootId: string | undefined;

function bootId(): string {
  cachedBootId ??= platform() === "linux" ? linuxBootId() : `${darwinBootTime()}|`;
  return cachedBootId;
}

function splitBootId(id: string): readonly [boot: string, pids: string] {
  const bar = id.indexOf("|");
  return bar < 0 ? [id, ""] : [id.slice(0, bar), id.slice(bar + 1)];
}

function linuxBootId(): string {
  return `${readQuietly(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim())}|${readQuietly(() => readlinkSync("/proc/self/ns/pid"))}`;
}

function darwinBootTime(): string {
  if (platform() !== "darwin") return "";
  // `kern.boottime` changes with clock corrections; the session id does not.
  return readQuietly(() => ask("sysctl", ["-n", "kern.bootsessionuuid"]));
}

/** Returns a process's start time: an empty string if it is unknown, or null if there is no such process. */
function processStart(pid: number): string | null {
  if (platform() === "linux") return linuxProcessStart(pid);
  if (!processExists(pid)) return null;
  if (platform() === "win32") return windowsProcessStart(pid);
  return readQuietly(() => ask("ps", ["-o", "lstart=", "-p", String(pid)]));
}

function linuxProcessStart(pid: number): string | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return processExists(pid) ? "" : null;
  }
  // The second field is the command in brackets, which may contain spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[0];
  if (state === "Z" || state === "X") return null;
  return fields[19] ?? "";
}

function windowsProcessStart(pid: number): string {
  const script = `(Get-Process -Id ${pid}).StartTime.ToFileTimeUtc()`;
  return readQuietly(() => ask("powershell.exe", ["-NoProfile", "-Command", script]));
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}

function readQuietly(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

function ask(command: string, args: readonly string[]): string {
  const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
  return execFileSync(command, args, {
    encoding: "utf8",
    timeout: 5_000,
    stdio: ["ignore", "pipe", "ignore"],
    env,
  }).trim();
}

/** A newly created run counts as interrupted if no process takes its lease within this time. */
const BEGINS_WITHIN_MS = 5_000;

export function isInterrupted(row: RunRow, now: number): boolean {
  return (row.status === "running" || row.status === "planned") && !isDriven(row, now);
}

/** If a run is overdue by more than this, the engine is assumed to have no worker. */
const UNWORKED_AFTER_MS = 60_000;

/** Returns true if a process is working on the run or is expected to start soon. */
export function isDriven({ status, lease, updatedAt, wakeAt, resumeAt }: RunRow, now: number): boolean {
  if (lease !== null) return now <= lease.expiresAt && !isHolderGone(lease.holder, lease.expiresAt - now);
  // A finished or paused run wakes only for requests in progress. Until then, no process is working on it.
  const isAtRest = isRunFinal(status) || (status === "paused" && resumeAt === null);
  if (wakeAt !== null) return (!isAtRest || wakeAt <= now) && now <= wakeAt + UNWORKED_AFTER_MS;
  return status === "planned" && now - updatedAt <= BEGINS_WITHIN_MS;
}

export function statusNow(row: RunRow, now: number): RunRow {
  return isInterrupted(row, now) ? { ...row, status: "interrupted" } : row;
}
