import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LocalServiceOptions } from "../../src/local-service/index.ts";

export interface ServerProcess {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Resident memory now, in MB. */
  rssMb(): number;
  /** Highest resident memory so far, in MB. */
  peakMb(): number;
  /** Processor time used so far, in milliseconds: tells something on a busy machine too. */
  cpuMs(): number;
  stop(): Promise<void>;
}

function memory(pid: number, line: string): number {
  const match = new RegExp(`${line}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Math.round(Number(match?.[1] ?? 0) / 1024);
}

/** Clock ticks of /proc are hundredths of a second. */
const TICK_MS = 10;

function cpu(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Starts the service in a second process. Linux only: memory is read from /proc. */
export async function startServer(options: LocalServiceOptions = {}): Promise<ServerProcess> {
  const script = join(import.meta.dirname, "local-service-server.ts");
  const child = spawn(process.execPath, [script, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
    // From its second start on, the memory is that of the service and not of what strips types from its sources.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache"), ...process.env },
  });
  const [line] = await once(child.stdout, "data");
  const { baseUrl, apiKey, pid } = JSON.parse(String(line));
  return {
    baseUrl,
    apiKey,
    rssMb: () => memory(pid, "VmRSS"),
    peakMb: () => memory(pid, "VmHWM"),
    cpuMs: () => cpu(pid),
    async stop() {
      const gone = once(child, "exit");
      child.stdin.end();
      await gone;
    },
  };
}

export interface Times {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Percentiles of times in milliseconds, to a tenth. */
export function percentiles(times: readonly number[]): Times {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 10) / 10;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
