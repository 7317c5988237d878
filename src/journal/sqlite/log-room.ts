import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";

/** As much again as is there, so that a short run writes little for nothing, and at most so much at once. */
const CHUNK_BYTES = 512 * 1024;
/** Looked at so often, in transactions, and made when half of what was made last is used up. */
const EVERY = 8;
/** A smaller log is that of a run of a few commits. */
const FROM_BYTES = 32 * 1024;
/** Sizes and offsets of SQLite's write-ahead log (sqlite.org/fileformat2.html, "The Write-Ahead Log"). */
const log = { header: 32, pageSizeAt: 8, saltsAt: 16, frameHeader: 24, frameSaltsAt: 8, salts: 8 };

const zeros = Buffer.alloc(CHUNK_BYTES);

/**
 * Keeps room in the write-ahead log ahead of its end. A sync of a file that has grown also writes the file system's own
 * log, which costs as much again as the data; one that overwrites what was there does not. SQLite takes zeros after its
 * last frame for the end of the log, as it does with what is left of an earlier one.
 */
export class LogRoom {
  readonly #path: string;
  readonly #limitBytes: number;
  #transactions = 0;

  /** `limitBytes`: where SQLite begins the log anew. */
  constructor(journal: string, limitBytes: number) {
    this.#path = `${journal}-wal`;
    this.#limitBytes = limitBytes;
  }

  /** Only within a write transaction, so that nobody else is writing to the log. A failure costs speed and nothing else. */
  keep(): void {
    this.#transactions += 1;
    if (this.#transactions % EVERY !== 2) return;
    try {
      const file = openSync(this.#path, "r+");
      try {
        this.#extend(file);
      } finally {
        closeSync(file);
      }
    } catch {
      // SQLite will say what is wrong with the disk.
    }
  }

  #extend(file: number): void {
    const { size } = fstatSync(file);
    if (size < FROM_BYTES || size >= this.#limitBytes) return;
    const bytes = Math.min(size, CHUNK_BYTES);
    if (isInUse(file, size - bytes / 2)) writeSync(file, zeros, 0, bytes, size);
  }
}

/** Whether the log as it is now reaches to about there: its frames have the salts of its header, older ones others. */
function isInUse(file: number, bytes: number): boolean {
  const header = Buffer.alloc(log.header);
  readSync(file, header, 0, log.header, 0);
  const frameBytes = log.frameHeader + header.readUInt32BE(log.pageSizeAt);
  const frames = Math.floor((bytes - log.header) / frameBytes);
  if (frames < 1) return true;
  const salts = Buffer.alloc(log.salts);
  readSync(file, salts, 0, log.salts, log.header + (frames - 1) * frameBytes + log.frameSaltsAt);
  return salts.equals(header.subarray(log.saltsAt, log.saltsAt + log.salts));
}
