import { statfsSync, statSync } from "node:fs";

/** What decides when a run that could not be driven is retried. */
export interface RetryPorts {
  /** Epoch milliseconds. */
  now(): number;
  /** What may have changed on this machine for a run: its pipeline file, the room on the disk. */
  circumstances(file: string | null): string;
}

interface Setback {
  readonly lastSeq: number;
  readonly file: string | null;
  readonly circumstances: string;
  readonly failures: number;
  readonly until: number;
}

const [FIRST_MS, LONGEST_MS] = [5_000, 300_000];

/** When each run that could not be driven is tried again: never "not at all". */
export class RunRetries {
  readonly #ports: RetryPorts;
  readonly #setbacks = new Map<string, Setback>();

  constructor(ports: RetryPorts) {
    this.#ports = ports;
  }

  /** Notes a failure and answers after how many milliseconds the run is tried again at the latest. */
  failed(runId: string, { lastSeq, file }: { readonly lastSeq: number; readonly file: string | null }): number {
    const failures = (this.#setbacks.get(runId)?.failures ?? 0) + 1;
    const waitMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
    const circumstances = this.#ports.circumstances(file);
    this.#setbacks.set(runId, { lastSeq, file, circumstances, failures, until: this.#ports.now() + waitMs });
    return waitMs;
  }

  /** Another process drives it, which is no failure: retried soon, since that process may have ended by then. */
  busy(runId: string, lastSeq: number): void {
    const until = this.#ports.now() + FIRST_MS;
    this.#setbacks.set(runId, {
      lastSeq,
      file: null,
      circumstances: this.#ports.circumstances(null),
      failures: 0,
      until,
    });
  }

  driven(runId: string): void {
    this.#setbacks.delete(runId);
  }

  /** Whether the run may be tried now: its time has come, its journal moved, or something else changed. */
  isDue(runId: string, lastSeq: number): boolean {
    const setback = this.#setbacks.get(runId);
    if (setback === undefined || setback.lastSeq !== lastSeq || this.#ports.now() >= setback.until) return true;
    return setback.failures > 0 && this.#ports.circumstances(setback.file) !== setback.circumstances;
  }
}

/** What a run on this machine may have failed for: the state of its pipeline file, and how much room its disks have. */
export function errorContextOf(file: string | null, folders: readonly string[]): string {
  return JSON.stringify([file === null ? null : stamp(file), ...folders.map(freeBytes)]);
}

/** Changes when the file does. */
export function stamp(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? "missing" : `${found.mtimeMs} ${found.size}`;
}

/** In powers of two, so that small changes do not count. */
function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return Math.floor(Math.log2(bavail * bsize + 1));
  } catch {
    return -1;
  }
}
